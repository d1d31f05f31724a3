"""What differs between generations of browser-use: where a history keeps what."""

from __future__ import annotations

from typing import Any

from webagent.trajectory.untyped import items, mapping, text

NESTED, EMBEDDED, BESIDE, WITH_PROMPT = "0.1-0.2", "0.3-0.4", "0.5-0.7", "0.8+"
"""Thoughts under `current_state`; pictures in base64; by path; with the prompt's own words."""

_REQUEST, _REQUEST_END = "<user_request>", "</user_request>"


def generation(history: list[dict[str, Any]]) -> str:
    """Which generation wrote these items."""
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
    for key in ("thinking", "next_goal", "memory"):
        if words := text(parts.get(key)):
            return words
    return None


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
