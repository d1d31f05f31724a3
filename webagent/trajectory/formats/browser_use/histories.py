"""The histories in a tree: their files, what differs between generations, and how a run ended."""

import re
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

from webagent.trajectory.files.assembling import Ending
from webagent.trajectory.files.recognition import folders_with, outline
from webagent.trajectory.files.trees import Tree, windows_of
from webagent.trajectory.records import EndReason, ErrorOrigin, ErrorRecord, Outcome
from webagent.trajectory.values import flag, items, mapping, text

_BESIDE = frozenset(("state", "result"))
_LONGEST_KEY = len('"model_output"')


@dataclass(frozen=True)
class HistoryFile:
    """One history and the files of its folder, by their path in that folder."""

    folder: str
    """Inside the tree, with `/` at the end; empty for the tree itself."""
    name: str
    files: dict[str, str] = field(default_factory=dict)
    shares_folder: bool = False
    """Whether another history lies in the same folder."""

    def picture(self, path: str) -> str | None:
        """The file that a history calls `path`, which is mostly absolute and elsewhere.

        Of several with that name, the one whose folders agree best; None if none does or no one
        can tell.
        """
        parts = path.replace("\\", "/").split("/")
        agreeing: dict[int, list[str]] = defaultdict(list)
        for own in self.files:
            if is_picture(own) and (common := _common_end(own.split("/"), parts)):
                agreeing[common].append(own)
        best = agreeing[max(agreeing)] if agreeing else []
        # `screenshots/step_2.png` beside two histories may be of either.
        if len(best) != 1 or (self.shares_folder and max(agreeing) < len(("run", "shots", "file"))):
            return None
        return best[0]


def find_histories(tree: Tree) -> list[HistoryFile]:
    """Every history, each with the files of its folder and of the folders below."""
    found: dict[str, list[str]] = defaultdict(list)

    def is_sign(name: str, last: str) -> bool:
        is_one = name.endswith(".json") and _is_history(tree, name)
        if is_one:
            found[name.rpartition("/")[0]].append(last)
        return is_one

    return [
        HistoryFile(f"{path}/" if path else "", last, files, shares_folder=len(found[path]) > 1)
        for path, files in folders_with(tree, is_sign).items()
        for last in found[path]
    ]


def _is_history(tree: Tree, name: str) -> bool:
    seen = outline(tree, name)
    if not seen.has("history"):
        return False
    known = "model_output" in seen.inner and not seen.inner.isdisjoint(_BESIDE)
    return known or _names_items(tree, name)


def _names_items(tree: Tree, name: str) -> bool:
    """Whether an item's keys stand anywhere: the first item may be of any size."""
    wanted = {b'"model_output"': False, b'"result"': False, b'"state"': False}
    for words in windows_of(tree, name, _LONGEST_KEY):
        for key in wanted:
            wanted[key] = wanted[key] or key in words
        output, result, state = wanted.values()
        if output and (result or state):
            return True
    return False


def is_picture(path: str) -> bool:
    return path.lower().endswith((".png", ".jpg", ".jpeg", ".webp"))


def _common_end(one: list[str], other: list[str]) -> int:
    count = 0
    for left, right in zip(reversed(one), reversed(other), strict=False):
        if left != right:
            break
        count += 1
    return count


NESTED, EMBEDDED, BESIDE, WITH_PROMPT = "0.1-0.2", "0.3-0.4", "0.5-0.7", "0.8+"
"""Thoughts under `current_state`; pictures in base64; by path; with the prompt's own words."""

_REQUEST, _REQUEST_END = "<user_request>", "</user_request>"


def generation(history: list[dict[str, Any]]) -> str:
    if any("current_state" in mapping(item.get("model_output")) for item in history):
        return NESTED
    if any(text(item.get("state_message")) for item in history):
        return WITH_PROMPT
    states = [mapping(item.get("state")) for item in history]
    if any("screenshot_path" in state for state in states):
        return BESIDE
    return EMBEDDED


def task_of(history: list[dict[str, Any]]) -> str | None:
    """What the agent was told, where the prompt's own words are kept."""
    for item in history:
        _, opened, rest = (text(item.get("state_message")) or "").partition(_REQUEST)
        words, closed, _ = rest.partition(_REQUEST_END)
        if opened and closed:
            return words.strip()
    return None


def brain(output: dict[str, Any]) -> dict[str, Any]:
    """The thoughts of a step, wherever this generation puts them."""
    return mapping(output.get("current_state")) or {
        key: value for key, value in output.items() if key != "action"
    }


def thought(parts: dict[str, Any]) -> str | None:
    """What the agent thought in its own words; where it has none, what it was up to."""
    told = (text(parts.get(key)) for key in ("thinking", "next_goal", "memory"))
    return next(filter(None, told), None)


def actions_of(output: dict[str, Any]) -> list[dict[str, Any]]:
    """The step's actions: one key each."""
    listed = output.get("action")
    return [mapping(action) for action in (items(listed) or ([listed] if listed else []))]


def is_last_word(item: dict[str, Any]) -> bool:
    """Whether this is no step, but the harness saying that it stopped."""
    state = mapping(item.get("state"))
    return (
        not item.get("model_output")
        and not item.get("metadata")
        and not text(state.get("url"))
        and not text(state.get("screenshot"))
        and not text(state.get("screenshot_path"))
    )


def results_of(item: dict[str, Any]) -> list[dict[str, Any]]:
    """What came of the step's actions, one by one as far as they were carried out."""
    return [mapping(result) for result in items(item.get("result"))]


_STEP_LIMIT = re.compile(r"maximum steps", re.IGNORECASE)
_PROVIDER = re.compile(
    r"\b(?:LLM|API|rate.?limit|quota|endpoint|connection|connect|timed? ?out|unauthorized"
    r"|authentication|api.?key|overloaded|service unavailable|\b(?:429|50\d)\b)",
    re.IGNORECASE,
)
_ERROR_CHARS = 100_000


@dataclass(frozen=True)
class ToldEnding(Ending):
    """With what the run says of itself."""

    claimed_success: bool | None = None
    final_answer: str | None = None


def last_words(history: list[dict[str, Any]]) -> list[str]:
    """What the harness said when it stopped."""
    return [words for item in history if is_last_word(item) for words in _errors(item)]


def ending(history: list[dict[str, Any]]) -> ToldEnding:
    """How it ended. A run that says it is done has no outcome: that is its own word alone."""
    steps = [item for item in history if not is_last_word(item)]
    last = results_of(steps[-1])[-1:] if steps else []
    if last and flag(last[0].get("is_done")):
        return ToldEnding(
            Outcome.UNKNOWN,
            EndReason.AGENT_STOPPED,
            claimed_success=flag(last[0].get("success")),
            final_answer=text(last[0].get("extracted_content")),
        )
    if any(_STEP_LIMIT.search(words) for words in last_words(history)):
        return ToldEnding(Outcome.INCOMPLETE, EndReason.MAX_STEPS)
    errors = _errors(steps[-1]) if steps else []
    if errors and not steps[-1].get("model_output"):
        is_provider = bool(_PROVIDER.search(errors[-1].partition("\n")[0]))
        origin = ErrorOrigin.MODEL if is_provider else ErrorOrigin.AGENT
        return ToldEnding(
            Outcome.ERROR if is_provider else Outcome.INCOMPLETE,
            EndReason.EXCEPTION,
            error=ErrorRecord(message=errors[-1][:_ERROR_CHARS], origin=origin),
        )
    return ToldEnding(Outcome.INCOMPLETE, EndReason.UNKNOWN if steps else EndReason.NEVER_STARTED)


def judgement(history: list[dict[str, Any]]) -> dict[str, Any]:
    """What browser-use's own judge said of the run; empty where it was not asked."""
    for item in reversed(history):
        for result in reversed(results_of(item)):
            if said := mapping(result.get("judgement")):
                return said
    return {}


def _errors(item: dict[str, Any]) -> list[str]:
    return [words for result in results_of(item) if (words := text(result.get("error")))]
