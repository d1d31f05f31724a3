"""What a study's protocol is made of: presets, causes of failure, guidelines as HTML."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import nh3
from django.utils.functional import Promise
from django.utils.safestring import SafeString
from django.utils.text import slugify
from django.utils.translation import gettext, gettext_noop
from django.utils.translation import gettext_lazy as _
from markdown_it import MarkdownIt

from judging.models import Guideline

TYPES_OF_FAILURE = _(
    "wrong or missing filter\n"
    "a step left out\n"
    "wrong item or page\n"
    "claims what no picture shows\n"
    "right thing, wrong form\n"
    "repeated actions\n"
    "stopped too early\n"
    "blocked by the site"
)
DEFAULT_GUIDELINES = _(
    "**Success**: the task is done when the run ends. What was asked for is on the page or in the"
    " agent's answer, and nothing was done that nobody asked for.\n\n"
    "- An answer counts if a reader would accept it. It may be a whole sentence.\n"
    "- An answer that names the right thing among wrong ones is a **failure**.\n"
    "- Saying that something is done is not doing it. Look at the last screenshot.\n"
    "- **Not executable**: the page was broken, or nobody can do the task.\n"
    "- **Unsure** is a fair answer. It leads to a discussion."
)
LIVE_WEB_GUIDELINES = _(
    "**Before you look at the run**\n\n"
    "1. Do the task yourself on the live site, and note how many steps it took you.\n"
    "2. Write down the task's key points: every condition that the result must meet.\n\n"
    "**While you look**\n\n"
    "- Check each key point against the actions *and* the pictures. What the agent says counts for"
    " nothing: if no picture shows it, it has not happened.\n"
    "- Every condition must be met; a filter that was not set is a failure even if the result"
    " happens to be right.\n\n"
    "**Your label**\n\n"
    "- *Success* (1): all key points are met.\n"
    "- *Failure* (0): at least one is not. Give the step at which it went wrong, the type of"
    " failure, and your reasoning.\n"
    "- *Not executable* (2): nobody can do the task any more, because the site or its content has"
    " changed. Say what you found; the reviewer reports such tasks.\n\n"
    "Work alone. The reviewer settles what you disagree on, and looks into runs on which you agree."
)


class Preset(NamedTuple):
    """A protocol by its key, with the values that the form of a new study begins with."""

    key: str
    name: str | Promise
    initial: Mapping[str, Any]


PRESETS = (
    Preset("", _("Two annotators"), {"guidelines": DEFAULT_GUIDELINES}),
    Preset(
        "online_mind2web",
        "Online-Mind2Web",
        {
            "labels_per_run": 3,
            "hides_identity": True,
            "asks_failure_details": True,
            "causes": TYPES_OF_FAILURE,
            "guidelines": LIVE_WEB_GUIDELINES,
        },
    ),
)


def preset(key: str | None) -> Preset:
    """The protocol of that key; the first one if there is none."""
    return next((each for each in PRESETS if each.key == key), PRESETS[0])


DEFAULT_CAUSES = {
    "repeated_actions": gettext_noop("repeated actions"),
    "operation_error": gettext_noop("operation error"),
    "reasoning_error": gettext_noop("reasoning error"),
    "stopped_too_early": gettext_noop("stopped too early"),
    "misread_page": gettext_noop("misread page"),
    "wrong_answer_form": gettext_noop("right thing, wrong form"),
    "environment": gettext_noop("environment"),
}
MAX_CAUSES = 12
MAX_NAME = 60


_ANOMALIES = {
    "loop": ("loop", "repeat", "ループ", "繰り返"),
    "false_completion": ("too early", "too_early", "premature", "false completion", "完了誤認"),
}
"""What the name or key of a cause holds if it is what a detector of anomalies looks for."""


def anomaly_meant(cause: dict[str, Any]) -> str | None:
    """`loop` or `false_completion` where the cause says the same as that mark; else None."""
    words = f"{cause['key']} {cause['name']}".lower().replace(
        "false_completion", "false completion"
    )
    for kind, signs in _ANOMALIES.items():
        if any(sign in words for sign in signs):
            return kind
    return None


def cause_choices(taxonomy: Iterable[dict[str, Any]]) -> list[tuple[str, str]]:
    """Keys and names to choose from; names of the built-in causes in the reader's language."""
    choices = []
    for cause in taxonomy:
        key, name = str(cause["key"]), str(cause["name"])
        choices.append((key, gettext(name) if DEFAULT_CAUSES.get(key) == name else name))
    return choices


def named_causes(taxonomy: Iterable[dict[str, Any]], keys: Iterable[str]) -> list[str]:
    """The names of a label's causes; of one that the study no longer offers, its key."""
    names = dict(cause_choices(taxonomy))
    return [names.get(key, key) for key in keys]


def default_lines() -> str:
    """The built-in causes as a form shows them: one a line, in the reader's language."""
    return "\n".join(gettext(name) for name in DEFAULT_CAUSES.values())


def parse_lines(text: str) -> list[dict[str, str]]:
    """The causes that somebody wrote, one a line; built-in ones are recognised again."""
    known = {gettext(name): (key, name) for key, name in DEFAULT_CAUSES.items()}
    causes: dict[str, str] = {}
    for line in text.splitlines():
        written = line.strip()[:MAX_NAME]
        if not written:
            continue
        key, name = known.get(written, (_key(written, causes), written))
        causes.setdefault(key, name)
    return [{"key": key, "name": name} for key, name in list(causes.items())[:MAX_CAUSES]]


def _key(name: str, taken: dict[str, str]) -> str:
    """A key for a cause: its name in letters where that is possible, else its number."""
    key = slugify(name).replace("-", "_") or f"cause_{len(taken) + 1}"
    return key if taken.get(key, name) == name else f"{key}_{len(taken) + 1}"


_PARSER = MarkdownIt("commonmark", {"html": False, "linkify": False}).enable(
    ["table", "strikethrough"]
)
_TAGS = {
    *("h1", "h2", "h3", "h4", "p", "br", "hr", "blockquote", "pre", "code"),
    *("em", "strong", "s", "ul", "ol", "li", "a"),
    *("table", "thead", "tbody", "tr", "th", "td"),
}
MAX_CHARS = 50_000


def render_markdown(text: str) -> SafeString:
    """The text as HTML that holds no script, style, picture, or link other than http(s)."""
    html = nh3.clean(
        _PARSER.render(text[:MAX_CHARS]),
        tags=_TAGS,
        attributes={"a": {"href", "title"}},
        url_schemes={"http", "https"},
        link_rel="noopener noreferrer nofollow",
    )
    return SafeString(html)  # the one place that says so: nh3 has just cleaned it


def guideline_context(newest: Guideline | None) -> dict[str, Any]:
    """The guidelines that a page shows, and as HTML; empty where the study has none."""
    return {"guideline": newest, "guideline_html": render_markdown(newest.text) if newest else ""}
