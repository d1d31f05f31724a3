"""An experiment of hints with known results, made without running anything."""

from collections.abc import Mapping
from typing import Any

from runs.models import Experiment, Hint, HintChoice, HintSet, LearningJob, Run
from tests.judging.analysis.experiments import made
from tests.runs.factories import make_agent, make_run

TRIALS = 3
REWARDS = {"s": 1.0, "f": 0.0}


def hint_experiment(
    results: Mapping[str, list[str]], baseline: list[str], name: str = "Hints"
) -> Experiment:
    """Trials by hint set (`concrete.same_task`) and task, as `sff`; e breaks, . is not there."""
    experiment = Experiment.objects.create(name=name, plan={"trials": TRIALS})
    tasks = made.tasks(len(baseline))
    job = LearningJob.objects.create(kind="hints", state="finished", model="m", params={"runs": []})
    hints = [
        Hint.objects.create(
            job=job,
            source=make_run(task=task, steps=1, pictures=False),
            level="concrete",
            text=f"Hint for {task}",
            model="m",
            prompt_version="1",
            prompt_hash="0" * 64,
            asks=1,
            input_tokens=10,
            output_tokens=5,
            seconds=0.1,
        )
        for task in tasks
    ]
    for key in results:
        level, relatedness = key.split(".")
        told = HintSet.objects.create(
            key=f"{key}.{name}", job=job, level=level, relatedness=relatedness, method="bm25"
        )
        for task, hint in zip(tasks, hints, strict=True):
            HintChoice.objects.create(hint_set=told, task=task, hint=hint, score=1.5, n_tied=2)
    runs = []
    for key, trials in {"": baseline, **results}.items():
        config = {"model": "m"} | ({"hints": f"{key}.{name}"} if key else {})
        agent = make_agent("generic", f"m {key}", config=config)
        for task, each in zip(tasks, trials, strict=True):
            runs += [
                _run(experiment, task, agent, word, trial)
                for trial, word in enumerate(each, start=1)
                if word != "."
            ]
    made.store(runs)
    return experiment


def _run(of: Experiment, task: Any, agent: Any, word: str, trial: int) -> Run:
    fields: dict[str, Any] = {"trial": trial, "seed": trial - 1}
    if word == "e":
        fields |= {"outcome": Run.Outcome.ERROR, "status": "failed"}
    return made.run_row(of, task, agent, REWARDS.get(word), **fields)
