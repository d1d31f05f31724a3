"""One `step_N.pkl.gz`, read as plain data, and what the agent saw there as a neutral record."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from webagent.trajectory.actions import parse_browsergym_actions
from webagent.trajectory.axtree import flatten_axtree
from webagent.trajectory.bundles import task_record
from webagent.trajectory.files.assembling import box_of, task_set_of
from webagent.trajectory.files.pickle_reader import Pickled, PickleError, PickleReader
from webagent.trajectory.formats.agentlab.folders import GOAL, RunFiles
from webagent.trajectory.records import (
    ActionRecord,
    BlobPart,
    Box,
    ChatMessage,
    GoalPart,
    Observation,
    TabRecord,
    TaskRecord,
    TextPart,
)
from webagent.trajectory.texts import storable_text
from webagent.trajectory.values import flag, items, mapping, moment, number, text, whole

_PROPERTIES = "extra_element_properties"
_HEAVY_KEYS = ("dom_object", "axtree_object", _PROPERTIES)
"""Raw trees of whole pages: seconds to write out, and only asked for in parts."""
_KNOWN_FIELDS = frozenset(("obs", "action", "agent_info", "reward", "step"))


@dataclass(frozen=True, kw_only=True)
class StepFile:
    """What a step file says. `reward`, `terminated`, `truncated` and the observation's last
    error came of the action *before*; `action` was chosen at this observation."""

    number: int
    obs: dict[str, Any]
    raw_obs: Any
    """The observation where it is no dictionary (other kinds of environments)."""
    action: str | None
    actions: tuple[ActionRecord, ...] = ()
    agent_info: dict[str, Any] = field(default_factory=dict)
    stats: dict[str, Any] = field(default_factory=dict)
    profiling: dict[str, Any] = field(default_factory=dict)
    task_info: Any = None
    reward: float | None = None
    terminated: bool | None = None
    truncated: bool | None = None
    boxes: dict[str, Box] = field(default_factory=dict)
    axtree: Any = None
    """The raw accessibility tree, where no text of it was kept."""
    picture: str | None = None
    """What the picture of this step is called; None if none was taken."""

    @property
    def gave_up(self) -> bool:
        """The agent was asked and returned no action; the loop then truncated the run."""
        return self.action is None and bool(self.agent_info) and bool(self.truncated)

    @property
    def thought(self) -> str | None:
        return text(self.agent_info.get("think"))

    @property
    def last_action(self) -> str | None:
        """The action that led here."""
        return text(self.obs.get("last_action"))

    @property
    def last_error(self) -> str | None:
        """What went wrong with the action that led here."""
        return text(self.obs.get("last_action_error"))


def read_step_file(pickles: PickleReader, content: bytes, number_: int) -> tuple[StepFile, Pickled]:
    """The step, and the pickle that it was read from.

    Raises:
        PickleError: not readable, or no step.
    """
    pickled = pickles.read(content, leave=_HEAVY_KEYS)
    value = mapping(pickled.value)
    if len(_KNOWN_FIELDS & value.keys()) < 3:
        named = f"; it names {', '.join(pickled.suspicious)[:200]}" if pickled.suspicious else ""
        raise PickleError(f"holds no step{named}")
    obs, raw_obs = value.get("obs"), None
    if not isinstance(obs, dict) or "$class" in obs:
        obs, raw_obs = {}, obs
    action = value.get("action")
    if action is not None and not isinstance(action, str):
        action = str(action)[:10_000]
    actions = parse_browsergym_actions(action) if action else ()
    wants_tree = "axtree_object" in obs and not text(obs.get("axtree_txt"))
    step = StepFile(
        number=number_,
        obs=obs,
        raw_obs=raw_obs,
        action=action,
        actions=actions,
        agent_info=mapping(value.get("agent_info")),
        stats=mapping(value.get("stats")),
        profiling=mapping(value.get("profiling")),
        task_info=value.get("task_info"),
        reward=number(value.get("reward")),
        terminated=flag(value.get("terminated")),
        truncated=flag(value.get("truncated")),
        boxes=boxes_of(actions, partial(pickles.get, "obs", _PROPERTIES))
        if _PROPERTIES in obs
        else {},
        axtree=pickles.get("obs", "axtree_object") if wants_tree else None,
        # Environments of other kinds have no picture.
        picture=f"screenshot_step_{number_}" if raw_obs is None else None,
    )
    return step, pickled


def boxes_of(actions: tuple[ActionRecord, ...], properties: Callable[[str], Any]) -> dict[str, Box]:
    """Boxes of the elements that the actions name, and of no other: pages have thousands."""
    boxes: dict[str, Box] = {}
    for action in actions:
        bid = action.target.bid if action.target else None
        if bid and bid not in boxes:
            box = box_of(items(mapping(properties(bid)).get("bbox")))
            boxes |= {bid: box} if box else {}
    return boxes


_USER_IMAGE_ROLE = "user_image"
_PICTURE = "[picture]"
_IMAGE_GOAL_WARNING = "\nWARNING: This goal cannot be converted to a text-only goal format."

_KNOWN_KEYS = frozenset(
    ("chat_messages", "goal", "goal_object", "goal_data", "goal_image_urls")
    + ("open_pages_urls", "open_pages_titles", "active_page_index", "url")
    + ("focused_element_bid", "last_action", "last_action_error", "elapsed_time")
    + ("dom_txt", "axtree_txt", "pruned_html", "screenshot", "screenshot_som")
    + _HEAVY_KEYS
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
        shown = _PICTURE if role == _USER_IMAGE_ROLE else storable_text(words, limit)
        at = moment(message.get("timestamp"))
        yield ChatMessage(role=storable_text(role, 100), text=shown, at=at)


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
    words = words.partition(_IMAGE_GOAL_WARNING)[0]
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
    for key, kept in (("pruned_html", "html"), ("dom_txt", "dom")):
        if words := text(obs.get(key)):
            name = f"step_{number}/{key}.html"
            found[kept] = files.text_blob(words, kept, name, "text/html")
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
