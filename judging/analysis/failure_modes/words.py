"""Failure modes for people: names, definitions, rules, and whose word they are."""

from __future__ import annotations

from collections.abc import Mapping

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from judging.analysis.failure_modes.sources import NONE, UNKNOWN, side_named
from judging.evaluators.failure_detection import Rule
from webagent.recovery.failure_kinds import Mode, Side

NAMES: Mapping[Mode, Promise] = {
    Mode.REPETITIVE: _("repetitive actions"),
    Mode.EARLY_STOP: _("early stop"),
    Mode.INVALID_ACTION: _("invalid action"),
    Mode.PLAN_ERROR: _("plan error"),
    Mode.MISREAD_OBSERVATION: _("misread observation"),
    Mode.MAX_STEPS: _("step limit"),
    Mode.ENVIRONMENT: _("environment"),
}
DEFINITIONS: Mapping[Mode, Promise] = {
    Mode.REPETITIVE: _("The same few actions on the same page again and again."),
    Mode.EARLY_STOP: _("The agent ended the run while part of the task was left to do."),
    Mode.INVALID_ACTION: _("Actions could not be carried out as they were written."),
    Mode.PLAN_ERROR: _("A way that cannot lead to the goal, or a part of the task forgotten."),
    Mode.MISREAD_OBSERVATION: _("What the agent thought or did contradicts what the page showed."),
    Mode.MAX_STEPS: _("The run used up its steps, or another limit."),
    Mode.ENVIRONMENT: _("Site, browser or harness failed. Never counted as the agent's."),
}
RULES: Mapping[Rule, Promise] = {
    Rule.NOT_THE_AGENTS_ERROR: _("it ended in an error that is not the agent's"),
    Rule.ANOMALY: _("a loop or repeated completion is marked"),
    Rule.STUCK_AT_THE_END: _("it was stopped for being stuck"),
    Rule.REPEATED_BLOCK: _("the same actions on the same page again and again"),
    Rule.GAVE_UP: _("the agent gave up"),
    Rule.DID_NOTHING: _("the agent ended it without having acted on a page"),
    Rule.SHORTER_THAN_POSSIBLE: _("the agent ended it in fewer actions than the task takes"),
    Rule.LAST_ACTION_FAILED: _("the last action could not be carried out"),
    Rule.MANY_ACTIONS_FAILED: _("a third of the actions or more could not be carried out"),
    Rule.STEP_LIMIT: _("it used up its steps"),
    Rule.OTHER_LIMIT: _("it used up its time, tokens, money or messages"),
}
SIDES: Mapping[Side, Promise] = {
    Side.OPERATION: _("operation error"),
    Side.REASONING: _("reasoning error"),
    Side.BOTH: _("both"),
}
SIDE_DEFINITIONS: Mapping[Side, Promise] = {
    Side.OPERATION: _("The agent meant the right thing and carried it out wrongly."),
    Side.REASONING: _("What the agent meant to do was wrong."),
    Side.BOTH: _("Each of them alone would have failed."),
}
NO_MODE = _("none found")
NOT_TOLD = _("not looked at yet")


def definitions() -> list[tuple[Promise, Promise]]:
    """Every mode and side with what it means."""
    modes = [(NAMES[mode], DEFINITIONS[mode]) for mode in Mode]
    return modes + [(SIDES[side], SIDE_DEFINITIONS[side]) for side in Side]


def mode_words(word: str) -> str:
    """A mode or a side, or that there is none, or that nobody has looked."""
    if (side := side_named(word)) is not None:
        return str(SIDES[side])
    return str({NONE: NO_MODE, UNKNOWN: NOT_TOLD}.get(word) or NAMES[Mode(word)])
