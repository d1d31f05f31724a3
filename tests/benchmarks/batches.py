"""A batch of judgements by a model that answers in 200 ms, against what its limit of requests at a
time would allow.
"""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from tempfile import TemporaryDirectory

from django.conf import settings

from judging.evaluating.evaluating import carry_out
from judging.evaluating.services import start_batch
from judging.evaluators.registry import evaluator_named
from judging.models import EvaluationBatch
from tests.benchmarks.clock import tell
from tests.benchmarks.crowds import FORKED
from tests.judging.analysis import audited
from tests.judging.evaluating.asked_models import always, models_file
from tests.webagent.llm.stub import running_stub

LATENCY_S = 0.2
RUNS_EACH = 100


def run() -> None:
    for at_a_time in (4, 16):
        with _model_apart() as url, TemporaryDirectory() as folder:
            settings.ENV.MODELS_FILE = models_file(Path(folder), url, at_a_time=at_a_time)
            settings.ENV.JUDGE_MODEL = "stub-judge"
            runs = RUNS_EACH * at_a_time
            seconds = _seconds(f"benchmark {at_a_time} {os.getpid()}", runs)
        tell(
            f"a judge of {LATENCY_S} s over {runs} runs, {at_a_time} at a time "
            f"({runs / seconds:.0f} runs/s)",
            seconds,
            RUNS_EACH * LATENCY_S,
        )


@contextmanager
def _model_apart() -> Iterator[str]:
    """The address of a model in a process of its own, as models are."""
    ours, theirs = FORKED.Pipe()
    process = FORKED.Process(target=_serve, args=(theirs,), daemon=True)
    process.start()
    try:
        yield ours.recv()
    finally:
        ours.send("stop")
        process.join()


def _serve(pipe: Connection) -> None:
    with running_stub() as stub:
        stub.reply = always(True)
        stub.latency = LATENCY_S
        pipe.send(stub.openai_url)
        pipe.recv()


def _seconds(name: str, runs: int) -> float:
    world = audited.study(name)
    for number in range(runs):
        spec = {"eval_types": ["string_match"], "reference_answers": {"exact_match": "42"}}
        of = audited.task(f"{name} {number}", spec=spec)
        world.add(of=audited.run(of, final_answer=f"{name}, answer {number}"))
    evaluator = evaluator_named("two-stage-judge")
    batch = start_batch(evaluator=evaluator, study=world.study, notifies=False)
    started = time.perf_counter()
    carry_out(batch.pk)
    seconds = time.perf_counter() - started
    batch = EvaluationBatch.objects.get(pk=batch.pk)
    if batch.n_passed != runs:
        raise RuntimeError(f"the batch came to {batch.n_passed} verdicts: {batch.problem}")
    return seconds
