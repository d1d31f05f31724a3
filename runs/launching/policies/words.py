"""Retry policies in plain sentences, and what the page of a run shows of its policy."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from django.utils import formats
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext, ngettext_lazy
from pydantic import JsonValue

from runs.catalogue.agents.choices import agent_in_words
from runs.models import Run
from runs.models.extension import extension
from runs.models.policies import body_of
from runs.models.runs.run import hides_something
from webagent.recovery.retry_policy import (
    WORTH_RETRYING,
    AnomalyResponse,
    BatchLimits,
    Comparison,
    Fallback,
    Infrastructure,
    PolicyBody,
    RecoveryPolicy,
    RepeatedWrites,
    RerunRule,
    RerunWhen,
    RunLimits,
    WaitingSteps,
)
from webagent.trajectory.faults import Fault

if TYPE_CHECKING:
    from runs.models.runs.run import ShownRun

_ON_LOOP: Mapping[AnomalyResponse, Promise] = {
    AnomalyResponse.RECOVER: gettext_lazy(
        "On a loop of %(shortest)d–%(longest)d steps (blocks of up to %(block)d): go back and "
        "try again."
    ),
    AnomalyResponse.STOP: gettext_lazy(
        "On a loop of %(shortest)d–%(longest)d steps (blocks of up to %(block)d): stop the run, "
        "which saves the rest."
    ),
    AnomalyResponse.IGNORE: gettext_lazy("Loops (%(shortest)d–%(longest)d steps) are ignored."),
}
_ON_FALSE_COMPLETION: Mapping[AnomalyResponse, Promise] = {
    AnomalyResponse.RECOVER: gettext_lazy(
        "After %(at_least)d messages or waits in a row: go back and try again."
    ),
    AnomalyResponse.STOP: gettext_lazy(
        "After %(at_least)d messages or waits in a row: stop the run, which saves the rest."
    ),
    AnomalyResponse.IGNORE: gettext_lazy("Messages or waits in a row (%(at_least)d) are ignored."),
}
_COMPARE: Mapping[Comparison, Promise] = {
    Comparison.ACTIONS: gettext_lazy("Steps of a loop have equal actions, on any page."),
    Comparison.ACTIONS_AND_PAGE: gettext_lazy("Steps of a loop have equal actions on equal pages."),
}
_WAITING: Mapping[WaitingSteps, Promise] = {
    WaitingSteps.COUNTS: gettext_lazy("Steps that only wait count."),
    WaitingSteps.EXEMPT: gettext_lazy("Steps that only wait do not count."),
}
_OTHERWISE: Mapping[Fallback, Promise] = {
    Fallback.STOP: gettext_lazy("When stuck again, the run ends."),
    Fallback.GO_ON: gettext_lazy("When stuck again, the run continues."),
}
_WRITES: Mapping[RepeatedWrites, Promise] = {
    RepeatedWrites.REFUSE: gettext_lazy(
        "Steps that look like writes (send, buy, delete …) are never "
        "repeated; then the run cannot go back."
    ),
    RepeatedWrites.CONTINUE: gettext_lazy(
        "Steps that look like writes (send, buy, delete …) are repeated too."
    ),
}
_RUN_LIMITS: Mapping[str, Promise] = {
    "steps": gettext_lazy("One run: at most %(value)s steps."),
    "tokens": gettext_lazy("One run: at most %(value)s tokens."),
    "dollars": gettext_lazy("One run: at most %(value)s."),
    "seconds": gettext_lazy("One run: at most %(value)s."),
}
_BATCH_LIMITS: Mapping[str, Promise] = {
    "runs": gettext_lazy("Runs launched together: at most %(value)s start."),
    "tokens": gettext_lazy("Runs launched together: after %(value)s tokens no further one starts."),
    "dollars": gettext_lazy("Runs launched together: after %(value)s no further one starts."),
    "seconds": gettext_lazy(
        "Runs launched together: after %(value)s, added up over all of them, no further one starts."
    ),
}
_RERUNS: Mapping[RerunWhen, Promise] = {
    RerunWhen.FAILED_OUTCOME: ngettext_lazy(
        "Rerun failures, by the benchmark's outcome, up to %(at_most)d time with %(agent)s.",
        "Rerun failures, by the benchmark's outcome, up to %(at_most)d times with %(agent)s.",
        "at_most",
    ),
    RerunWhen.FAILED_REFERENCE: ngettext_lazy(
        "Rerun failures, by the reference verdict, up to %(at_most)d time with %(agent)s.",
        "Rerun failures, by the reference verdict, up to %(at_most)d times with %(agent)s.",
        "at_most",
    ),
    RerunWhen.FAILED_EVALUATOR: ngettext_lazy(
        "Rerun failures, by the evaluator %(subject)s, up to %(at_most)d time with %(agent)s.",
        "Rerun failures, by the evaluator %(subject)s, up to %(at_most)d times with %(agent)s.",
        "at_most",
    ),
    RerunWhen.MARKED: ngettext_lazy(
        "Rerun where annotators marked the cause “%(subject)s”, up to %(at_most)d time "
        "with %(agent)s.",
        "Rerun where annotators marked the cause “%(subject)s”, up to %(at_most)d times "
        "with %(agent)s.",
        "at_most",
    ),
    RerunWhen.BROKE: ngettext_lazy(
        "Rerun what the infrastructure broke (%(faults)s), up to %(at_most)d time with %(agent)s.",
        "Rerun what the infrastructure broke (%(faults)s), up to %(at_most)d times with %(agent)s.",
        "at_most",
    ),
    RerunWhen.LOOPED: ngettext_lazy(
        "Rerun where the agent was stuck in a loop, up to %(at_most)d time with %(agent)s.",
        "Rerun where the agent was stuck in a loop, up to %(at_most)d times with %(agent)s.",
        "at_most",
    ),
    RerunWhen.FALSE_COMPLETION: ngettext_lazy(
        "Rerun where the agent declared completion again and again, up to %(at_most)d time "
        "with %(agent)s.",
        "Rerun where the agent declared completion again and again, up to %(at_most)d times "
        "with %(agent)s.",
        "at_most",
    ),
    RerunWhen.AT_LIMIT: ngettext_lazy(
        "Rerun where a limit of steps, tokens, money or time ended the run, "
        "up to %(at_most)d time with %(agent)s.",
        "Rerun where a limit of steps, tokens, money or time ended the run, "
        "up to %(at_most)d times with %(agent)s.",
        "at_most",
    ),
}


class PartInWords(NamedTuple):
    """One part of a policy: its heading, its sentences, and whether it asks for anything."""

    title: str
    sentences: list[str]
    acts: bool


def in_words(body: PolicyBody) -> list[PartInWords]:
    """The whole policy, part by part."""
    rules = [sentence for rule in body.reruns for sentence in _rule(rule)]
    one, together = _limits(body.run, _RUN_LIMITS), _limits(body.batch, _BATCH_LIMITS)
    limits = [
        *(one or [_("One run: no limits.")]),
        *(together or [_("Runs launched together: no limits.")]),
    ]
    tried = _infrastructure(body.infrastructure)
    return [
        PartInWords(_("Infrastructure errors"), tried, body.infrastructure is not None),
        PartInWords(_("Stuck agents"), list(_stuck(body)), body.recovery is not None),
        PartInWords(_("Limits"), limits, bool(one or together)),
        PartInWords(_("Reruns"), rules or [_("No reruns.")], bool(rules)),
    ]


def sentences(body: PolicyBody) -> list[str]:
    """All its sentences in reading order."""
    return [sentence for part in in_words(body) for sentence in part.sentences]


def rule_in_words(rule: RerunRule) -> str:
    """One rule of reruns."""
    return " ".join(_rule(rule))


def duration_in_words(seconds: float) -> str:
    """Exactly so many seconds: 1 h 0 min 1 s."""
    if seconds != int(seconds):
        return _("%(n)s s") % {"n": formats.number_format(seconds)}
    minutes, left = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    parts = [(hours, _("%(n)s h")), (minutes, _("%(n)s min")), (left, _("%(n)s s"))]
    said = [words % {"n": formats.number_format(n, use_l10n=True)} for n, words in parts if n]
    return " ".join(said)


def _infrastructure(part: Infrastructure | None) -> list[str]:
    if part is None:
        return [_("Infrastructure errors are retried by the default settings.")]
    if part.attempts == 1 or not part.faults:
        return [_("Infrastructure errors are not retried.")]
    retried = ngettext(
        "Retried after: %(faults)s. %(attempts)d attempt in all.",
        "Retried after: %(faults)s. %(attempts)d attempts in all.",
        part.attempts,
    )
    backoff = _(
        "The second attempt waits about %(seconds)s, each further one twice as long, "
        "at most %(cap)s."
    )
    waits = {
        "seconds": duration_in_words(part.backoff_s),
        "cap": duration_in_words(part.backoff_cap_s),
    }
    return [
        retried % {"faults": _faults(part.faults), "attempts": part.attempts},
        backoff % waits,
    ]


def _stuck(body: PolicyBody) -> Iterator[str]:
    policy = body.recovery
    if policy is None:
        yield _("Stuck agents are ignored.")
        return
    window = {
        "shortest": policy.loop_shortest,
        "longest": policy.loop_longest,
        "block": policy.loop_longest // 2,
    }
    yield _ON_LOOP[policy.on_loop] % window
    yield str(_COMPARE[policy.compare])
    completions = {"at_least": policy.false_completions}
    yield _ON_FALSE_COMPLETION[policy.on_false_completion] % completions
    yield str(_WAITING[policy.waiting])
    if AnomalyResponse.RECOVER not in (policy.on_loop, policy.on_false_completion):
        return
    if policy.recoveries:
        yield from _recovery(policy, body)
    else:
        yield _("Going back is not allowed.")
        yield str(_OTHERWISE[policy.otherwise])


def _recovery(policy: RecoveryPolicy, body: PolicyBody) -> Iterator[str]:
    yield ngettext(
        "Going back: the task restarts, and the steps up to %(steps)d step "
        "before the problem are repeated.",
        "Going back: the task restarts, and the steps up to %(steps)d "
        "steps before the problem are repeated.",
        policy.steps_before,
    ) % {"steps": policy.steps_before}
    yield _taking_over(policy, body)
    yield ngettext(
        "At most %(recoveries)d time in a run.",
        "At most %(recoveries)d times in a run.",
        policy.recoveries,
    ) % {"recoveries": policy.recoveries}
    yield str(_OTHERWISE[policy.otherwise])
    yield str(_WRITES[policy.writes])
    yield ngettext(
        "A page that differs on replay is checked %(tries)d more time, %(milliseconds)d ms apart.",
        "A page that differs on replay is checked %(tries)d more times, %(milliseconds)d ms apart.",
        policy.settle_tries,
    ) % {"tries": policy.settle_tries, "milliseconds": policy.settle_ms}
    yield _("If it still differs, the run ends and says where.")


def _taking_over(policy: RecoveryPolicy, body: PolicyBody) -> str:
    if not policy.other_steps:
        return _("Then the same agent tries again.")
    if body.other_agent is None:
        return _("No other agent: the same one tries again.")
    return ngettext(
        "Then %(agent)s takes %(steps)d step, and the first agent continues.",
        "Then %(agent)s takes %(steps)d steps, and the first agent continues.",
        policy.other_steps,
    ) % {"agent": agent_in_words(body.other_agent), "steps": policy.other_steps}


def _limits(limits: RunLimits | BatchLimits, words: Mapping[str, Promise]) -> list[str]:
    return [
        words[name] % {"value": _amount(name, value)} for name, value in limits if value is not None
    ]


def _amount(name: str, value: Any) -> str:
    if name == "seconds":
        return duration_in_words(float(value))
    if isinstance(value, Decimal):
        exponent = value.as_tuple().exponent
        digits = max(2, -exponent) if isinstance(exponent, int) else 2
        return f"${formats.number_format(value, digits)}"
    return formats.number_format(str(value), use_l10n=True, force_grouping=True)


def _rule(rule: RerunRule) -> Iterator[str]:
    subject = rule.subject
    if rule.when is RerunWhen.MARKED:
        subject = dict(extension().judgements.causes()).get(subject, subject)
    # A lazy plural learns its number from the values, so it must not be a string before.
    yield _RERUNS[rule.when] % {
        "at_most": rule.at_most,
        "agent": agent_in_words(rule.agent),
        "subject": subject,
        "faults": _faults(rule.faults or ()),
    }
    if rule.new_seed:
        yield _("Each of these reruns has a new seed.")


def _faults(faults: Iterable[Fault]) -> str:
    if faults == WORTH_RETRYING:
        return _("every temporary error")
    return ", ".join(str(Run.Fault(fault).label) for fault in faults) or _("any error")


@dataclass(frozen=True, slots=True)
class Saving:
    """At most so many steps, and what they would have cost at the run's own price a step.

    `dollars` is None where no model call had a price.
    """

    steps: int
    dollars: Decimal | None

    def __add__(self, other: Saving) -> Saving:
        known = [each for each in (self.dollars, other.dollars) if each is not None]
        return Saving(self.steps + other.steps, sum(known, Decimal(0)) if known else None)


def saving_of(run: ShownRun) -> Saving | None:
    """What the early stop of the run saved; None where it was not stopped, or is hidden."""
    if run.is_blind or run.is_anonymous or run.end_reason != Run.EndReason.HARNESS_LOOP_STOP:
        return None
    extra = run.record.get("extra")
    recovery = extra.get("recovery") if isinstance(extra, dict) else None
    return saving_in(recovery, run.n_steps, run.cost) if isinstance(recovery, dict) else None


def saving_in(recovery: Mapping[str, JsonValue], n_steps: int, cost: Decimal | None) -> Saving:
    """The saving by the summary of recovery in a run's record."""
    saved, replayed = recovery.get("steps_saved_at_most"), recovery.get("replayed_steps")
    steps = saved if isinstance(saved, int) else 0
    decided = n_steps - (replayed if isinstance(replayed, int) else 0)
    if cost is None or decided <= 0:
        return Saving(steps, None)
    return Saving(steps, cost / decided * steps)


def policy_facts(run: Run) -> dict[str, Any]:
    """Policy, the rule that had the run made, and what an early stop saved.

    Nothing of them where the run hides something from the viewer: a policy may name agents, and a
    rule tells how the run before this one went.
    """
    if hides_something(run):
        return {}
    return {
        "policy": run.policy,
        "rerun_rule": _rule_of(run),
        "saving": saving_of(cast("Any", run)),
    }


def _rule_of(run: Run) -> str:
    if run.policy is None or not run.rerun_rule:
        return ""
    rules = {rule.key: rule for rule in body_of(run.policy).reruns}
    rule = rules.get(run.rerun_rule)
    return rule_in_words(rule) if rule else ""
