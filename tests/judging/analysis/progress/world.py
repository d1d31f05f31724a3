"""An experiment whose progress is known: two configurations, two task sets, some runs silent."""

from random import Random
from typing import Any

from judging.evaluators.milestones import progress_details
from judging.models import Evaluation, EvaluatorVersion
from runs.catalogue.milestones.definitions import definitions_of
from runs.catalogue.milestones.services import set_milestones
from runs.models import Experiment, Run, Task, TaskSet
from tests.judging.analysis.experiments import made
from tests.runs.factories import make_agent, make_task
from webagent.milestones.findings import Definition, Finding, track, weights_of

TRIALS = 2
WEIGHTS = (1.0, 2.0, 0.5, 1.0, 3.0)


def milestones(number: int) -> list[Definition]:
    return [Definition(name=f"milestone {n}", weight=WEIGHTS[n]) for n in range(number)]


def judge(name: str = "milestones-mechanical", **config: Any) -> EvaluatorVersion:
    version, _ = EvaluatorVersion.objects.get_or_create(
        config_hash=f"{name} {config}",
        defaults={"name": name, "kind": "judge", "version": "1", "config": config},
    )
    return version


def evaluated(run: Run, findings: list[Finding], by: EvaluatorVersion | None = None) -> Evaluation:
    """What an evaluator of milestones says of the run, as it is stored."""
    of_task = definitions_of(run.task)
    progress = track(findings, weights_of(of_task), run.n_steps)
    return Evaluation.objects.create(
        run=run,
        evaluator=by or judge(),
        verdict="passed" if progress.is_success else "failed",
        score=progress.maximum / 100,
        details=progress_details(of_task, findings, progress),
        task=run.task,
    )


def found(random: Random, task: Task, n_steps: int) -> list[Finding]:
    """Some of the task's milestones, each somewhere in the run, some of them lost again."""
    findings = []
    for one in definitions_of(task):
        if random.random() < 0.3:
            findings.append(Finding(name=one.name))
            continue
        at = random.randrange(n_steps)
        lost = at + 1 if at + 1 < n_steps and random.random() < 0.3 else None
        findings.append(Finding(name=one.name, achieved_at=at, lost_at=lost, evidence_step=at))
    return findings


def measured() -> Experiment:
    """24 runs: 12 tasks' worth of trials; one unasked, one without verdict, one in error."""
    random = Random(7)
    of = made.experiment("How far")
    agents = [make_agent("generic", "gpt-5-mini"), make_agent("generic", "claude-3.7-sonnet")]
    runs = []
    for number in range(6):
        in_set = TaskSet.objects.get_or_create(name="other", version="raw")[0]
        fields: dict[str, Any] = {"task_set": in_set} if number > 3 else {}
        task = make_task(f"far-{number}", **fields)
        set_milestones(task=task, milestones=milestones(1 + number % 5))
        for agent in agents:
            for trial in range(1, TRIALS + 1):
                reward = float(random.random() < 0.4)
                steps = random.choice([3, 8, 12, 25, 40])
                is_cut = not reward and steps == 12
                runs.append(
                    made.run_row(
                        of,
                        task,
                        agent,
                        reward,
                        trial=trial,
                        n_steps=steps,
                        max_steps=steps if is_cut else None,
                        end_reason=Run.EndReason.MAX_STEPS if is_cut else Run.EndReason.TASK_ENDED,
                    )
                )
    bare = make_task("far-bare")
    runs.append(made.run_row(of, bare, agents[0], 1.0))
    made.store(runs)
    unasked, silent, undecided = runs[0], runs[5], runs[9]
    for run in runs[1:-1]:
        if run is silent:
            Evaluation.objects.create(run=run, evaluator=judge(), verdict="error", reason="away")
        else:
            evaluated(run, found(random, run.task, run.n_steps))
    assert unasked.pk != silent.pk
    # Rewards of ended runs never change: this one is stored anew, without any.
    Evaluation.objects.filter(run=undecided).delete()
    again = made.run_row(of, undecided.task, agents[0], None, trial=9, n_steps=3)
    made.store([again])
    evaluated(again, [Finding(name="milestone 0", achieved_at=1)])
    return of
