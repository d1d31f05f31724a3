"""What evaluators let through for agents that solve nothing."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple
from uuid import UUID

from django.utils.functional import Promise
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from judging.analysis.audits.matrices import PASSED_BY_VERDICT
from judging.analysis.audits.verdict_sources import in_order
from judging.analysis.counting import tally
from judging.analysis.experiments.facts import ANY_DECIDED, Facts
from judging.analysis.experiments.population import DECIDED, RunResult, Scope, Source
from judging.analysis.experiments.selection import runs_url
from judging.analysis.reports.report import (
    SHARE_KEYS,
    Cell,
    Layout,
    Report,
    in_files,
    on_pages,
    share,
    text,
)
from judging.analysis.reports.showing import Shown
from judging.models import Evaluation, EvaluatorVersion
from judging.statistics.figures import Share
from runs.interface.words import counted
from runs.launching.experiments.plans import Plan
from runs.launching.experiments.services import Launched, launch_experiment
from runs.models import Experiment, Task, User
from webagent.agents.registry import make_agent

CONTROLS: Mapping[str, Promise] = {
    "do_nothing": _("do nothing"),
    "always_na": _("always “N/A”"),
    "list_everything": _("list everything"),
}
"""Agents of the engine that solve nothing, by name: what passes with them passes for nothing."""


def controls_name(experiment: Experiment) -> str:
    """What the experiment is called that tries the controls on the tasks of this one."""
    return f"{experiment.name}, controls"[:200]


class LetThrough(NamedTuple):
    """What one evaluator, or the reward, passes of the control runs: by control agent."""

    source: Source
    passed: Mapping[str, Share]
    undecided: Mapping[str, int]
    """Runs of which it says nothing."""

    @property
    def all(self) -> Share:
        """Over all control agents."""
        shares = self.passed.values()
        return Share(sum(each.count for each in shares), sum(each.total for each in shares))


def controls_of(scope: Scope) -> list[LetThrough]:
    """What each source lets through of the control runs, in at most four queries."""
    ours = scope.counted(Source()).filter(agent__name__in=list(CONTROLS))
    by_reward = tally(ours, "agent__name", "standing")
    runs: Counter[str] = Counter()
    for (name, _standing), n in by_reward.items():
        runs[name] += n
    if not runs:
        return []
    verdicts = list(PASSED_BY_VERDICT)
    evaluations = Evaluation.objects.filter(
        run__in=ours.values("pk"), is_current=True, verdict__in=verdicts
    )
    said = tally(evaluations, "evaluator", "run__agent__name", "verdict")
    spoken = {evaluator for evaluator, *_ in said}

    def let_through(source: Source, counts: Mapping[str, Sequence[int]]) -> LetThrough:
        passed = {name: Share(won, won + lost) for name, (won, lost) in counts.items()}
        undecided = {name: runs[name] - share.total for name, share in passed.items()}
        return LetThrough(source, passed, undecided)

    found = [
        let_through(Source(), {name: [by_reward[name, it] for it in DECIDED] for name in runs})
    ]
    for each in in_order(EvaluatorVersion.objects.filter(pk__in=spoken)):
        counts = {name: [said[each.pk, name, verdict] for verdict in verdicts] for name in runs}
        found.append(let_through(Source(each), counts))
    return found


FEW_STEPS = 3
"""Doing nothing takes no more: what it shows it shows at the first step."""


def launch_controls(
    *, name: str, tasks: Iterable[Task], token: UUID, user: User | None
) -> Launched:
    """Queue one trial of every control agent on each task; the same token launches them once.

    Raises PlanError where they cannot run here; the message says why.
    """
    plan = Plan(
        name=name,
        tasks=tuple(tasks),
        agents=tuple(make_agent(agent).describe() for agent in CONTROLS),
        max_steps=FEW_STEPS,
        in_background=True,
    )
    return launch_experiment(plan=plan, token=token, user=user)


def controls(facts: Facts) -> Report:
    """One row an evaluator and control agent: what it lets through."""
    found, no_verdict = controls_of(facts.scope), gettext("no verdict")

    def url(source: Source, control: str, passed: Share) -> str:
        standing = RunResult.SUCCESS if passed.count else ANY_DECIDED
        return runs_url(facts.experiment, source, control=control, standing=standing)

    return Report(
        columns=[
            text("verdicts_of", _("verdict source")),
            text("control", _("control"), show=lambda key: Shown(str(CONTROLS[key]))),
            share(keys=("passed", *SHARE_KEYS[1:])),
            in_files("no_verdict"),
            on_pages(_("all controls"), per_row=True),
        ],
        rows=[
            [
                each.source.name,
                name,
                Cell(passed, url(each.source, name, passed), counted(no_verdict, n) if n else ""),
                n,
                each.all,
            ]
            for each in found
            for name, passed in each.passed.items()
            for n in [each.undecided[name]]
        ],
        remarks=[
            _(
                "What passes here passes for nothing done: read the success rates of other agents "
                "against it."
            )
        ],
        empty=""
        if found
        else _(
            "No control agent has run here. Controls do nothing, answer “N/A” or list the "
            "page; a success of theirs is an error of evaluator or task."
        ),
        layout=Layout(pivot="control"),
    )
