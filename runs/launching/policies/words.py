"""Retry policies in plain sentences, each with its numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal

from django.utils import formats
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext_lazy

from runs.catalogue.agents.choices import agent_in_words
from runs.models import Run
from runs.models.extension import extension
from webagent.recovery.policy import ClauseKey
from webagent.recovery.policy_clauses import (
    PolicyClause,
    Section,
    Sentence,
    Value,
    clauses,
    rule_clauses,
)
from webagent.recovery.retry_policy import (
    WORTH_RETRYING,
    AgentChoice,
    PolicyBody,
    RerunRule,
)

PARTS: Mapping[Section, Promise] = {
    Section.INFRASTRUCTURE: gettext_lazy("Infrastructure errors"),
    Section.RECOVERY: gettext_lazy("Stuck agents"),
    Section.LIMITS: gettext_lazy("Limits"),
    Section.RERUNS: gettext_lazy("Reruns"),
}

_NEVER_TWICE = gettext_lazy("Infrastructure errors are not retried.")

SENTENCES: Mapping[str, Promise] = {
    Sentence.AS_SET: gettext_lazy("Infrastructure errors are retried by the default settings."),
    Sentence.RETRIED: ngettext_lazy(
        "Retried after: %(faults)s. %(attempts)d attempt in all.",
        "Retried after: %(faults)s. %(attempts)d attempts in all.",
        "attempts",
    ),
    Sentence.BACKOFF: gettext_lazy(
        "The second attempt waits about %(seconds)s, each further one twice as long, "
        "at most %(cap)s."
    ),
    Sentence.NEVER_RETRIED: _NEVER_TWICE,
    Sentence.LEFT_ALONE: gettext_lazy("Stuck agents are ignored."),
    ClauseKey.LOOP_RECOVER: gettext_lazy(
        "On a loop of %(shortest)d–%(longest)d steps: go back and try again."
    ),
    ClauseKey.LOOP_STOP: gettext_lazy(
        "On a loop of %(shortest)d–%(longest)d steps: stop the run, which saves the rest."
    ),
    ClauseKey.LOOP_IGNORE: gettext_lazy("Loops (%(shortest)d–%(longest)d steps) are ignored."),
    ClauseKey.FALSE_COMPLETION_RECOVER: gettext_lazy(
        "After %(at_least)d messages or waits in a row: go back and try again."
    ),
    ClauseKey.FALSE_COMPLETION_STOP: gettext_lazy(
        "After %(at_least)d messages or waits in a row: stop the run, which saves the rest."
    ),
    ClauseKey.FALSE_COMPLETION_IGNORE: gettext_lazy(
        "Messages or waits in a row (%(at_least)d) are ignored."
    ),
    ClauseKey.NOTE_ONLY_WAITING: gettext_lazy(
        "Where a run ends with the agent's first message, only waiting can be detected."
    ),
    ClauseKey.NOTE_NEVER: gettext_lazy(
        "Where a run ends with the agent's first message, this can never be detected."
    ),
    ClauseKey.WAITING_COUNTS: gettext_lazy("Steps that only wait count."),
    ClauseKey.WAITING_EXEMPT: gettext_lazy("Steps that only wait do not count."),
    ClauseKey.BACK: ngettext_lazy(
        "Going back: the task restarts, and the steps up to %(steps)d step "
        "before the problem are repeated.",
        "Going back: the task restarts, and the steps up to %(steps)d "
        "steps before the problem are repeated.",
        "steps",
    ),
    ClauseKey.OTHER_AGENT: ngettext_lazy(
        "Then another agent takes %(steps)d step, and the first one continues.",
        "Then another agent takes %(steps)d steps, and the first one continues.",
        "steps",
    ),
    Sentence.TAKES_OVER: ngettext_lazy(
        "Then %(agent)s takes %(steps)d step, and the first agent continues.",
        "Then %(agent)s takes %(steps)d steps, and the first agent continues.",
        "steps",
    ),
    Sentence.NOBODY_TAKES_OVER: gettext_lazy("No other agent: the same one tries again."),
    ClauseKey.SAME_AGENT: gettext_lazy("Then the same agent tries again."),
    ClauseKey.AT_MOST: ngettext_lazy(
        "At most %(recoveries)d time in a run.",
        "At most %(recoveries)d times in a run.",
        "recoveries",
    ),
    ClauseKey.NEVER_RECOVER: gettext_lazy("Going back is not allowed."),
    ClauseKey.OTHERWISE_STOP: gettext_lazy("When stuck again, the run ends."),
    ClauseKey.OTHERWISE_GO_ON: gettext_lazy("When stuck again, the run continues."),
    ClauseKey.WRITES_REFUSE: gettext_lazy(
        "Steps that look like writes (send, buy, delete …) are never "
        "repeated; then the run cannot go back."
    ),
    ClauseKey.WRITES_CONTINUE: gettext_lazy(
        "Steps that look like writes (send, buy, delete …) are repeated too."
    ),
    ClauseKey.SETTLE: ngettext_lazy(
        "A page that differs on replay is checked %(tries)d more time, %(milliseconds)d ms apart.",
        "A page that differs on replay is checked %(tries)d more times, %(milliseconds)d ms apart.",
        "tries",
    ),
    ClauseKey.DIVERGED: gettext_lazy("If it still differs, the run ends and says where."),
    Sentence.RUN_STEPS: gettext_lazy("One run: at most %(value)s steps."),
    Sentence.RUN_TOKENS: gettext_lazy("One run: at most %(value)s tokens."),
    Sentence.RUN_DOLLARS: gettext_lazy("One run: at most %(value)s."),
    Sentence.RUN_SECONDS: gettext_lazy("One run: at most %(value)s."),
    Sentence.RUN_UNLIMITED: gettext_lazy("One run: no limits."),
    Sentence.BATCH_RUNS: gettext_lazy("Runs launched together: at most %(value)s start."),
    Sentence.BATCH_TOKENS: gettext_lazy(
        "Runs launched together: after %(value)s tokens no further one starts."
    ),
    Sentence.BATCH_DOLLARS: gettext_lazy(
        "Runs launched together: after %(value)s no further one starts."
    ),
    Sentence.BATCH_SECONDS: gettext_lazy(
        "Runs launched together: after %(value)s, added up over all of them, no further one starts."
    ),
    Sentence.BATCH_UNLIMITED: gettext_lazy("Runs launched together: no limits."),
    Sentence.RERUNS_FAILED_OUTCOME: ngettext_lazy(
        "Rerun failures, by the benchmark's outcome, up to %(at_most)d time with %(agent)s.",
        "Rerun failures, by the benchmark's outcome, up to %(at_most)d times with %(agent)s.",
        "at_most",
    ),
    Sentence.RERUNS_FAILED_REFERENCE: ngettext_lazy(
        "Rerun failures, by the reference verdict, up to %(at_most)d time with %(agent)s.",
        "Rerun failures, by the reference verdict, up to %(at_most)d times with %(agent)s.",
        "at_most",
    ),
    Sentence.RERUNS_FAILED_EVALUATOR: ngettext_lazy(
        "Rerun failures, by the evaluator %(subject)s, up to %(at_most)d time with %(agent)s.",
        "Rerun failures, by the evaluator %(subject)s, up to %(at_most)d times with %(agent)s.",
        "at_most",
    ),
    Sentence.RERUNS_MARKED: ngettext_lazy(
        "Rerun where annotators marked the cause “%(subject)s”, up to %(at_most)d time "
        "with %(agent)s.",
        "Rerun where annotators marked the cause “%(subject)s”, up to %(at_most)d times "
        "with %(agent)s.",
        "at_most",
    ),
    Sentence.RERUNS_BROKE: ngettext_lazy(
        "Rerun what the infrastructure broke (%(faults)s), up to %(at_most)d time with %(agent)s.",
        "Rerun what the infrastructure broke (%(faults)s), up to %(at_most)d times with %(agent)s.",
        "at_most",
    ),
    Sentence.RERUNS_LOOPED: ngettext_lazy(
        "Rerun where the agent was stuck in a loop, up to %(at_most)d time with %(agent)s.",
        "Rerun where the agent was stuck in a loop, up to %(at_most)d times with %(agent)s.",
        "at_most",
    ),
    Sentence.RERUNS_FALSE_COMPLETION: ngettext_lazy(
        "Rerun where the agent declared completion again and again, up to %(at_most)d time "
        "with %(agent)s.",
        "Rerun where the agent declared completion again and again, up to %(at_most)d times "
        "with %(agent)s.",
        "at_most",
    ),
    Sentence.RERUNS_AT_LIMIT: ngettext_lazy(
        "Rerun where a limit of steps, tokens, money or time ended the run, "
        "up to %(at_most)d time with %(agent)s.",
        "Rerun where a limit of steps, tokens, money or time ended the run, "
        "up to %(at_most)d times with %(agent)s.",
        "at_most",
    ),
    Sentence.NEW_SEED: gettext_lazy("Each of these reruns has a new seed."),
    Sentence.NO_RERUNS: gettext_lazy("No reruns."),
}
"""Words for every sentence that a policy can say."""

ANY_FAULT = gettext_lazy("any error")
MAY_PASS = gettext_lazy("every temporary error")


@dataclass(frozen=True, slots=True)
class PartInWords:
    """One part of a policy: its heading and its sentences."""

    title: str
    sentences: list[str]


def in_words(body: PolicyBody, *, ends_at_first_message: bool = False) -> list[PartInWords]:
    """The whole policy, part by part."""
    said = clauses(body, ends_at_first_message=ends_at_first_message)
    return [PartInWords(str(PARTS[part]), _sentences(said[part])) for part in Section]


def sentences(body: PolicyBody) -> list[str]:
    """All its sentences in reading order."""
    return [sentence for part in in_words(body) for sentence in part.sentences]


def rule_in_words(rule: RerunRule) -> str:
    """One rule of reruns."""
    return " ".join(_sentences(rule_clauses(rule)))


def duration_in_words(seconds: float) -> str:
    """Exactly so many seconds: 1 h 0 min 1 s."""
    if seconds != int(seconds):
        return _("%(n)s s") % {"n": formats.number_format(seconds)}
    minutes, left = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    parts = [
        (hours, _("%(n)s h")),
        (minutes, _("%(n)s min")),
        (left, _("%(n)s s")),
    ]
    said = [words % {"n": formats.number_format(n, use_l10n=True)} for n, words in parts if n]
    return " ".join(said)


def _sentences(said: Iterable[PolicyClause]) -> list[str]:
    # A lazy plural learns its number from the values, so it must not be a string before.
    return [str(SENTENCES[clause.key] % _values(clause)) for clause in said]


def _values(clause: PolicyClause) -> dict[str, object]:
    return {name: _value(clause.key, name, value) for name, value in clause.values.items()}


def _value(key: str, name: str, value: Value) -> object:
    if name == "agent":
        assert value is None or isinstance(value, AgentChoice)  # noqa: S101 (mypy)
        return agent_in_words(value)
    if name == "subject":
        if key != Sentence.RERUNS_MARKED:
            return value
        return dict(extension().judgements.causes()).get(str(value), value)
    if value == WORTH_RETRYING:
        return str(MAY_PASS)
    if isinstance(value, tuple):
        return ", ".join(str(Run.Fault(fault).label) for fault in value) or str(ANY_FAULT)
    if name in ("seconds", "cap") or key in (Sentence.RUN_SECONDS, Sentence.BATCH_SECONDS):
        return duration_in_words(float(str(value)))
    if isinstance(value, Decimal):
        exponent = value.as_tuple().exponent
        digits = max(2, -exponent) if isinstance(exponent, int) else 2
        return f"${formats.number_format(value, digits)}"
    if name == "value":
        return formats.number_format(str(value), use_l10n=True, force_grouping=True)
    return value
