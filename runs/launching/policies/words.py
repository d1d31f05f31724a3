"""Retry policies in the words of their form, and what the page of a run shows of its policy."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, NamedTuple

from django import forms
from django.utils import formats
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from pydantic import JsonValue

from runs.interface.sentences import labelled, listed
from runs.launching.agents import agent_in_words
from runs.launching.policies.forms import PolicyForm, Retries, Watch
from runs.launching.policies.rule_forms import WHEN, RuleForm
from runs.models import Run
from runs.models.extension import extension
from runs.models.policies import body_of
from runs.models.runs.run import hides_something
from webagent.recovery.retry_policy import (
    WORTH_RETRYING,
    AnomalyResponse,
    BatchLimits,
    Infrastructure,
    PolicyBody,
    RerunRule,
    RerunWhen,
    RunLimits,
)
from webagent.trajectory.faults import Fault


class PartInWords(NamedTuple):
    """One part of a policy: its heading, its lines, and whether it asks for anything."""

    title: str
    lines: list[str]
    acts: bool


def in_words(body: PolicyBody) -> list[PartInWords]:
    """The whole policy, part by part, in the words of its form."""
    form = PolicyForm.base_fields
    run, launch = _limits("run", body.run), _limits("batch", body.batch)
    rules = [rule_in_words(rule) for rule in body.reruns]
    nothing = [capfirst(_("none"))]
    return [
        PartInWords(
            capfirst(str(form["retries"].label)),
            _infrastructure(body.infrastructure),
            body.infrastructure is not None,
        ),
        PartInWords(str(form["watch"].label), list(_stuck(body)), body.recovery is not None),
        PartInWords(_("Limits per run"), run or nothing, bool(run)),
        PartInWords(_("Limits per launch"), launch or nothing, bool(launch)),
        PartInWords(_("Reruns"), rules or nothing, bool(rules)),
    ]


def lines(body: PolicyBody) -> list[str]:
    """All its lines in reading order, each with the heading of its part."""
    return [f"{part.title}: {line}" for part in in_words(body) for line in part.lines]


def rule_in_words(rule: RerunRule) -> str:
    subject = rule.subject
    if rule.when is RerunWhen.MARKED:
        subject = dict(extension().judgements.causes()).get(subject, subject)
    form = RuleForm.base_fields
    name = "cause" if rule.when is RerunWhen.MARKED else "evaluator"
    said = [
        capfirst(str(WHEN[rule.when])),
        *([_line(form[name], subject)] if subject else []),
        *([_line(form["faults"], _faults(rule.faults))] if rule.faults else []),
        _line(form["at_most"], rule.at_most),
        _line(form["agent"], agent_in_words(rule.agent)),
        *([str(form["new_seed"].label)] if rule.new_seed else []),
    ]
    return " · ".join(said)


def _line(field: forms.Field, value: Any) -> str:
    """The label of a field and what is chosen in it."""
    if isinstance(field, forms.ChoiceField):
        value = _choice(field, value)
    elif not isinstance(value, str):
        plain = str(value).removesuffix(".0")
        value = formats.number_format(plain, use_l10n=True, force_grouping=True)
    return labelled(capfirst(str(field.label)), value)


def _choice(field: forms.Field, value: str) -> str:
    choices: Any = field.choices if isinstance(field, forms.ChoiceField) else ()
    return str(dict(choices).get(value, value))


def _infrastructure(part: Infrastructure | None) -> list[str]:
    form = PolicyForm.base_fields
    if part is None:
        return [capfirst(_choice(form["retries"], Retries.AS_SET))]
    if part.attempts == 1 or not part.faults:
        return [capfirst(_choice(form["retries"], Retries.NEVER))]
    return [
        _line(form["faults"], _faults(part.faults)),
        *(_line(form[name], getattr(part, name)) for name in PolicyForm.RETRY_FIELDS),
    ]


_DETECTION = (*PolicyForm.LOOK_FIELDS, "compare", "false_completions", "waiting")


def _stuck(body: PolicyBody) -> Iterator[str]:
    policy, form = body.recovery, PolicyForm.base_fields
    if policy is None:
        yield capfirst(_choice(form["watch"], Watch.NO))
        return
    shown = set(form if policy.may_recover else _DETECTION)
    if AnomalyResponse.RECOVER in (policy.on_loop, policy.on_false_completion):
        shown |= {"recoveries", "otherwise"}
    for name, value in policy.model_dump(mode="json").items():
        if name == "other_steps" and name in shown:
            yield _line(form["other_agent"], agent_in_words(body.other_agent))
        if name in shown:
            yield _line(form[name], value)


def _limits(part: str, limits: RunLimits | BatchLimits) -> list[str]:
    form = PolicyForm.base_fields
    return [_line(form[f"{part}_{name}"], value) for name, value in limits if value is not None]


def _faults(faults: Iterable[Fault]) -> str:
    if faults == WORTH_RETRYING:
        return _("every temporary error")
    return listed(Run.Fault(fault).label for fault in faults)


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


def _saving_of(run: Run) -> Saving | None:
    """What the early stop of the run saved; None where it was not stopped."""
    if run.end_reason != Run.EndReason.HARNESS_LOOP_STOP:
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
    return {"policy": run.policy, "rerun_rule": _rule_of(run), "saving": _saving_of(run)}


def _rule_of(run: Run) -> str:
    if run.policy is None or not run.rerun_rule:
        return ""
    rules = {rule.key: rule for rule in body_of(run.policy).reruns}
    return rule_in_words(rules[run.rerun_rule]) if run.rerun_rule in rules else ""
