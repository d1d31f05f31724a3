"""Steps per second of several runs at a time, each with a process and a browser of its own."""

import os
import sys
import time
from multiprocessing import get_context
from multiprocessing.synchronize import Barrier
from statistics import median

from tests.benchmarks import orders
from webagent.agents.running import run_episode
from webagent.agents.scripted import Looping
from webagent.trajectory.records import StepRecord

STEPS = 12
LIMIT_S = 300


def run() -> None:
    alone = 0.0
    for task, rows in orders.ROWS.items():
        for n in (1, 2, 4):
            rate = _rate(task, n)
            alone = rate if n == 1 else alone
            sys.stdout.write(
                f"{n} browsers on {len(os.sched_getaffinity(0))} processors, {rows} orders: "
                f"{rate:.2f} steps/s, {rate / alone:.2f} times one browser\n"
            )


def _rate(task: str, n: int) -> float:
    """Steps of all together in a second, while all of them are at work."""
    context = get_context("spawn")
    barrier, queue = context.Barrier(n), context.SimpleQueue()
    processes = [context.Process(target=_work, args=(task, barrier, queue)) for _ in range(n)]
    for process in processes:
        process.start()
    lengths = [length for _ in processes for length in queue.get()]
    for process in processes:
        process.join()
    return n / float(median(lengths))


def _work(task: str, barrier: Barrier, queue: object) -> None:
    orders.use()
    ends: list[float] = []

    def sink(step: StepRecord, blobs: object) -> None:
        if not ends:
            barrier.wait(LIMIT_S)
        ends.append(time.perf_counter())

    agent = Looping(action="scroll(0, 100)")
    run_episode(task, agent, run_id="benchmark", sink=sink, seed=1, max_steps=STEPS)
    queue.put([b - a for a, b in zip(ends[1:], ends[2:], strict=False)])  # type: ignore[attr-defined]
