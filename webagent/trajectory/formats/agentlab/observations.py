"""What the agent saw: BrowserGym's observation as a neutral one."""

from collections.abc import Iterator
from typing import Any

from webagent.trajectory.files.assembling import task_record, task_set_of
from webagent.trajectory.formats.agentlab.folders import GOAL, RunFiles
from webagent.trajectory.formats.agentlab.stepfiles import HEAVY_KEYS, StepFile
from webagent.trajectory.records import (
    BlobPart,
    ChatMessage,
    GoalPart,
    Observation,
    TabRecord,
    TaskRecord,
    TextPart,
)
from webagent.trajectory.texts import storable_text
from webagent.trajectory.values import items, mapping, moment, text, whole

GREETING_ROLE, USER_IMAGE_ROLE, INFEASIBLE_ROLE = "assistant", "user_image", "infeasible"
PICTURE = "[picture]"
IMAGE_GOAL_WARNING = "\nWARNING: This goal cannot be converted to a text-only goal format."

_KNOWN_KEYS = frozenset(
    ("chat_messages", "goal", "goal_object", "goal_data", "goal_image_urls")
    + ("open_pages_urls", "open_pages_titles", "active_page_index", "url")
    + ("focused_element_bid", "last_action", "last_action_error", "elapsed_time")
    + ("dom_txt", "axtree_txt", "pruned_html", "screenshot", "screenshot_som")
    + HEAVY_KEYS
)
_SHOWN_PACKAGES = ("agentlab", "browsergym", "playwright", "openai", "anthropic", "litellm")
_MAX_TABS = 100
_MAX_BID = 200
_MAX_CHAT = 1_000


def observation(files: RunFiles, number: int, step: StepFile | None) -> Observation | None:
    """What was seen at step `number`; only its pictures if the step file is unreadable."""
    folder = files.folder
    pictures: dict[str, Any] = {}
    named = step.picture if step is not None and files.takes_pictures else None
    path = folder.screenshots.get(number)
    if path or named:
        pictures["screenshot"] = files.picture(path, "screenshot", where=named or "")
    # The loop marks the picture of every step, or of none.
    marked = folder.marked.get(number)
    if marked or (named and folder.marked):
        where = f"screenshot_som_step_{number}"
        pictures["marked_screenshot"] = files.picture(marked, "marked_screenshot", where=where)
    if step is None:
        return Observation(**pictures) if any(pictures.values()) else None
    obs, limit = step.obs, files.bounds.text_chars
    tabs = tuple(_tabs(obs, limit))
    active = next((tab for tab in tabs if tab.active), None)
    url = text(obs.get("url"))
    return Observation(
        at=moment(step.profiling.get("get_observation_stop"))
        or moment(step.profiling.get("env_stop")),
        url=storable_text(url, limit) if url else None,
        title=active.title if active else None,
        tabs=tabs,
        focused=(text(obs.get("focused_element_bid")) or "")[:_MAX_BID] or None,
        chat=tuple(_chat(obs, limit)),
        extra=_extra(files, step),
        **pictures,
        **_trees(files, number, step),
    )


def _chat(obs: dict[str, Any], limit: int) -> Iterator[ChatMessage]:
    """The conversation so far; pictures are named, not repeated."""
    for item in items(obs.get("chat_messages"))[:_MAX_CHAT]:
        message = mapping(item)
        role, words = text(message.get("role")), message.get("message")
        if role is None or not isinstance(words, str):
            continue
        shown = PICTURE if role == USER_IMAGE_ROLE else storable_text(words, limit)
        at = moment(message.get("timestamp"))
        yield ChatMessage(role=storable_text(role, 100), text=shown, at=at)


def said_to_user(messages: tuple[ChatMessage, ...] | list[ChatMessage]) -> list[str]:
    """What the agent told the user: BrowserGym's own greeting, the first message, is not."""
    own = messages[1:] if messages and messages[0].role == GREETING_ROLE else messages
    return [message.text for message in own if message.role == GREETING_ROLE]


def claimed_infeasible(messages: tuple[ChatMessage, ...]) -> str | None:
    """Why the agent called the task infeasible, if it did."""
    reasons = [message.text for message in messages if message.role == INFEASIBLE_ROLE]
    return reasons[-1] if reasons else None


def goal_parts(files: RunFiles, value: Any, where: str) -> tuple[GoalPart, ...]:
    """The goal as text and pictures, from BrowserGym's list of message parts."""
    parts: list[GoalPart] = []
    if value is not None and not isinstance(value, list):
        files.inventory.miss("goal", where, "no list of parts")
    if len(items(value)) > files.bounds.goal_parts:
        files.note("goal", where, f"more than {files.bounds.goal_parts} parts")
    for item in items(value)[: files.bounds.goal_parts]:
        part = mapping(item)
        if words := text(part.get("text")):
            parts.append(TextPart(text=storable_text(words, files.bounds.text_chars)))
            continue
        picture = part.get("image_url")
        url = text(mapping(picture).get("url")) or text(picture)
        if url and url.startswith("data:"):
            blob = files.embedded_picture(url, "goal_image", where)
            if blob:
                parts.append(BlobPart(blob=blob))
        elif url:
            files.note("goal_image", where, "a link, and links are not fetched")
            parts.append(TextPart(text=storable_text(url, files.bounds.text_chars)))
        else:
            files.note("goal", where, "a part that is neither text nor a picture")
    return tuple(parts)


def goal_from_observation(files: RunFiles, step: StepFile | None) -> tuple[GoalPart, ...]:
    """The goal as the first observation had it, where no goal file is readable."""
    obs = step.obs if step else {}
    if parts := goal_parts(files, obs.get("goal_object"), "obs.goal_object"):
        return parts
    if obs.get("goal_object", ()) is None and GOAL not in files.folder.files:
        # The loop moves the goal into a file of its own.
        files.inventory.miss("goal", GOAL)
    words = text(obs.get("goal"))
    if not words:
        return ()
    words = words.partition(IMAGE_GOAL_WARNING)[0]
    return (TextPart(text=storable_text(words, files.bounds.text_chars)),)


def browsergym_task(
    name: str, packages: dict[str, str], first: StepFile | None, goal: tuple[GoalPart, ...]
) -> TaskRecord:
    """A task as BrowserGym names it; it starts where the first observation was."""
    task_set = task_set_of(name, packages)
    url = first.obs.get("url") if first else None
    web = isinstance(url, str) and url.startswith(("http://", "https://"))
    return task_record(
        task_set.name,
        name,
        version=task_set.version,
        goal=goal,
        start_urls=(storable_text(str(url), 2_000),) if web else (),
    )


def shown_packages(packages: dict[str, str]) -> tuple[str, ...]:
    """Those whose versions matter to how a run went."""
    return tuple(f"{n}=={packages[n]}" for n in sorted(packages) if n.startswith(_SHOWN_PACKAGES))


def _tabs(obs: dict[str, Any], limit: int) -> Iterator[TabRecord]:
    urls, titles = items(obs.get("open_pages_urls")), items(obs.get("open_pages_titles"))
    active = next(iter(items(obs.get("active_page_index"))), None)
    for index, url in enumerate(urls[:_MAX_TABS]):
        title = text(titles[index]) if index < len(titles) else None
        if isinstance(url, str):
            shown = storable_text(title, limit) if title else None
            yield TabRecord(
                url=storable_text(url, limit), title=shown, active=whole(active) == index
            )


def _trees(files: RunFiles, number: int, step: StepFile) -> dict[str, Any]:
    obs, found = step.obs, {}
    tree = text(obs.get("axtree_txt"))
    if tree is None and step.axtree is not None:
        tree = flatten_axtree(step.axtree) or None
    if tree:
        name = f"step_{number}/axtree.txt"
        found["a11y_tree"] = files.text_blob(tree, "a11y_tree", name, "text/plain")
    for key, field in (("pruned_html", "html"), ("dom_txt", "dom")):
        if words := text(obs.get(key)):
            name = f"step_{number}/{key}.html"
            found[field] = files.text_blob(words, field, name, "text/html")
    return found


def _extra(files: RunFiles, step: StepFile) -> dict[str, Any] | None:
    """Parts of the observation that this format does not know, verbatim."""
    unknown = {
        key: value
        for key, value in step.obs.items()
        if key not in _KNOWN_KEYS and value not in (None, "", [], {})
    }
    if step.raw_obs is not None:
        unknown["obs"] = step.raw_obs
    return files.free_form(unknown, f"step_{step.number}: obs")


_SILENT_ROLES = frozenset(("none", "generic", "InlineTextBox"))
_MAX_NODES = 200_000
_MAX_DEPTH = 200


def flatten_axtree(tree: Any) -> str:
    """One line per node, indented by depth: `[bid] role 'name', property=value`.

    Nodes without role, name and bid are passed over, their children are not.
    """
    nodes: dict[str, dict[str, Any]] = {}
    for item in items(mapping(tree).get("nodes"))[:_MAX_NODES]:
        node = mapping(item)
        if node.get("nodeId") is not None:
            nodes.setdefault(str(node["nodeId"]), node)
    lines: list[str] = []
    seen: set[str] = set()
    stack = [(next(iter(nodes), ""), 0)]
    while stack:
        key, depth = stack.pop()
        if key in seen or key not in nodes:
            continue
        seen.add(key)
        line = _line(nodes[key])
        if line:
            lines.append("\t" * min(depth, _MAX_DEPTH) + line)
        children = [str(child) for child in items(nodes[key].get("childIds"))]
        stack += [(child, depth + bool(line)) for child in reversed(children)]
    return "\n".join(lines)


def _line(node: dict[str, Any]) -> str:
    role = text(mapping(node.get("role")).get("value")) or ""
    name = text(mapping(node.get("name")).get("value")) or ""
    bid = text(node.get("browsergym_id"))
    if role in _SILENT_ROLES and not (bid and name):
        return ""
    if not role and not name:
        return ""
    shown = f"{role} {name!r}"
    if bid:
        shown = f"[{bid}] {shown}"
    return ", ".join([shown, *_properties(node)])


def _properties(node: dict[str, Any]) -> list[str]:
    shown = []
    value = mapping(node.get("value")).get("value")
    if value not in (None, ""):
        shown.append(f"value={value!r}")
    for item in items(node.get("properties")):
        name = text(mapping(item).get("name"))
        state = mapping(mapping(item).get("value")).get("value")
        if name and state is True:
            shown.append(name)
        elif name and state not in (None, False, ""):
            shown.append(f"{name}={state!r}")
    return shown
