"""Workers are killed in the middle of batches of evaluations, which cost money."""

import random
import time
from collections import Counter
from functools import partial
from unittest.mock import patch

from django.conf import settings

from judging.models import Evaluation, EvaluationBatch
from tests.faults.aftermath import BY_HAND, what_is_wrong
from tests.faults.findings import Findings
from tests.faults.scenarios import Place, Scenario
from tests.judging.evaluating.asked_models import always, models_file
from tests.judging.evaluating.test_batch_workers import State, now, queued
from tests.runs.live_workers import wait_until
from tests.webagent.llm.stub import running_stub

RUNS, AT_A_TIME = 30, 4
"""At a time so many runs are asked about, which may be asked about again after a kill."""


def evaluations(place: Place, times: int, findings: Findings) -> None:
    """Each time a batch of its own, whose worker is killed; another one finishes it."""
    with place.site() as site, running_stub() as stub:
        file = models_file(site.data_dir, stub.openai_url)
        site.environment |= {"MODELS_FILE": str(file), "JUDGE_MODEL": "stub-judge"}
        stub.reply, stub.latency = always(True), 0.1
        with patch.multiple(settings.ENV, MODELS_FILE=file, JUDGE_MODEL="stub-judge"):
            for number in range(times):
                batch = queued(f"Killed {number}", RUNS)
                with site.worker() as worker:
                    _wait_for(batch, random.randint(1, RUNS - 2))
                    worker.kill_all()
                    killed_at = time.monotonic()
                kept = set(Evaluation.objects.filter(batch=batch).values_list("pk", flat=True))
                with site.worker():
                    _wait_for(batch, RUNS)
                    wait_until(partial(_is_finished, batch), what="the end of the batch")
                findings.recoveries_s.append(time.monotonic() - killed_at)
                found = Evaluation.objects.filter(batch=batch)
                there = set(found.values_list("pk", flat=True))
                findings.acknowledged += len(kept)
                findings.kept += len(kept & there)
                findings.lost += len(kept - there)
                findings.doubled += found.count() - found.values("run").distinct().count()
                if found.filter(verdict="passed").count() != RUNS:
                    findings.complain([f"batch {number} has not a verdict on every run"])
        asked = Counter(question.text for question in stub.asked)
        paid_again = sum(count - 1 for count in asked.values())
        findings.times = times
        findings.more["calls paid"] += asked.total()
        findings.more["calls on their way when the worker died, paid again"] += paid_again
        if paid_again > AT_A_TIME * times:
            findings.complain([f"{paid_again} calls were paid again"])
        wrong = what_is_wrong(site.data_dir)
        findings.complain(words for words in wrong if not words.endswith(BY_HAND))
    findings.check()


def _wait_for(batch: EvaluationBatch, verdicts: int) -> None:
    wait_until(lambda: now(batch).n_done >= verdicts, what=f"{verdicts} verdicts")


def _is_finished(batch: EvaluationBatch) -> bool:
    return now(batch).state == State.FINISHED


EVALUATIONS = (
    Scenario(
        "evaluations killed",
        1,
        "kill -9 of a worker in the middle of a batch of evaluations by a model",
        10,
        evaluations,
    ),
)
