"""What the pages of retry policies show."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet

from runs.catalogue.agents.choices import OfferedAgents
from runs.interface.paging import RowCount, count_rows
from runs.launching.carrying_out.savings import Saving, saving_in
from runs.launching.policies.forms import PolicyForm, initial_of
from runs.launching.policies.rule_forms import one_more_rule, rule_forms
from runs.launching.policies.words import PartInWords, in_words, sentences
from runs.models import RetryPolicy, Run, RunStatus, User
from runs.models.policy_documents import body_of
from runs.models.visibility import Visibility, visibility_of
from webagent.environment.registry import ends_at_first_message, suites
from webagent.environment.site_benchmarks import SITE_BENCHMARKS
from webagent.recovery.policy import Answer
from webagent.recovery.retry_policy import PolicyBody

MOST_RUNS = 50
MOST_COUNTED = 5000


@dataclass(frozen=True, slots=True)
class Version:
    """One version, and how its sentences differ from those of the version before."""

    policy: RetryPolicy
    added: list[str]
    removed: list[str]


@dataclass(frozen=True, slots=True)
class Usage:
    """What became of the runs under a policy that hide nothing from the person.

    Attempts that a later one replaced are left out.
    """

    n: int
    outcomes: list[tuple[str, int]]
    rescued: int
    """Successes after at least one recovery."""
    stopped: int
    saved: Saving


@dataclass(frozen=True, slots=True)
class ListedPolicy:
    """The last version of a policy on the page of all."""

    policy: RetryPolicy
    parts: list[PartInWords]
    n_runs: RowCount


def listed_policies(user: User) -> list[ListedPolicy]:
    """Every policy by its name, in words."""
    runs = _shown_runs(visibility_of(user))
    versions = defaultdict[str, list[int]](list)
    for pk, name in RetryPolicy.objects.values_list("pk", "name"):
        versions[name].append(pk)
    return [
        ListedPolicy(
            policy,
            in_words(body_of(policy)),
            count_rows(runs.filter(policy__in=versions[policy.name]), most=MOST_COUNTED),
        )
        for policy in RetryPolicy.objects.latest_versions().select_related("created_by")
    ]


def policy_context(policy: RetryPolicy, user: User) -> dict[str, Any]:
    """What the page of one version shows."""
    body = body_of(policy)
    visibility = visibility_of(user)
    runs = _shown_runs(visibility).filter(policy=policy)
    return {
        "policy": policy,
        "parts": in_words(body),
        "body": body.model_dump_json(indent=2),
        "versions": versions_of(policy.name),
        "never_noticed": suites_that_end() if watches_for_completion(body) else [],
        "runs": runs.named(visibility).for_list().order_by("-created_at", "-pk")[:MOST_RUNS],
        "usage": _usage(runs.filter(status__in=RunStatus.ended())),
        "has_rules": bool(body.reruns),
    }


def versions_of(name: str) -> list[Version]:
    """All versions of a policy, newest first."""
    rows = list(RetryPolicy.objects.filter(name=name).select_related("created_by"))
    rows.sort(key=lambda row: row.version)
    said = [sentences(body_of(row)) for row in rows]
    before: list[list[str]] = [said[0], *said[:-1]]
    return [
        Version(row, [s for s in now if s not in old], [s for s in old if s not in now])
        for row, now, old in zip(rows, said, before, strict=True)
    ][::-1]


def watches_for_completion(body: PolicyBody) -> bool:
    """Whether the policy answers to completion that is declared again and again."""
    return body.recovery is not None and body.recovery.on_false_completion is not Answer.IGNORE


def suites_that_end() -> list[str]:
    """Suites and benchmarks whose runs end with the agent's first message."""
    here = [name for name in suites() if ends_at_first_message(f"{name}.")]
    known = [name for name, benchmark in SITE_BENCHMARKS.items() if benchmark.ends_at_message]
    return sorted({*here, *known})


def policy_form(
    user: User, policy: RetryPolicy | None, data: Any = None, *, adds_rule: bool = False
) -> PolicyForm:
    """The form of a new policy, or of the next version of one; bound where there is data."""
    body = body_of(policy) if policy else PolicyBody()
    agents = OfferedAgents(user, beside=body.agents)
    if adds_rule and data is not None:
        data = one_more_rule(data)
    rules = rule_forms(data, body.reruns, agents)
    initial = initial_of(body, agents)
    if policy is not None:
        initial |= {"name": policy.name, "description": policy.description}
    form = PolicyForm(data, initial=initial, agents=agents, rules=rules, is_new=policy is None)
    if adds_rule:
        form.forgive()
        if rules.forms:  # there it goes on
            rules.forms[-1].fields["when"].widget.attrs["autofocus"] = True
    return form


def _shown_runs(visibility: Visibility) -> Any:
    """Runs that hide nothing from the person: a policy tells who acts, and its rule how it went."""
    runs: Any = Run.objects.visible_with(visibility).latest_attempts()
    return runs.filter(is_blind=False, is_anonymous=False)


def _usage(runs: QuerySet[Any]) -> Usage:
    rows = runs.values_list(
        "shown_outcome", "shown_end_reason", "shown_cost", "n_steps", "record__extra__recovery"
    ).order_by("-created_at")[:MOST_COUNTED]
    outcomes: Counter[str] = Counter()
    rescued = stopped = 0
    saved = Saving(0, None)
    for outcome, end_reason, cost, n_steps, recovery in rows:
        outcomes[outcome] += 1
        told = recovery if isinstance(recovery, dict) else {}
        rescued += outcome == Run.Outcome.SUCCESS and bool(told.get("recoveries"))
        if end_reason == Run.EndReason.HARNESS_LOOP_STOP:
            stopped += 1
            saved += saving_in(told, n_steps, cost)
    return Usage(outcomes.total(), outcomes.most_common(), rescued, stopped, saved)
