"""Providers of models that fail in every way, asked by every judge."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from judging.evaluators.judges.answers import (
    SingleStageJudge,
    SingleStageSettings,
    TwoStageJudge,
    TwoStageSettings,
)
from judging.evaluators.judges.milestones import MilestoneJudge, MilestoneSettings
from judging.evaluators.judges.whole_run import (
    FailureJudge,
    FailureSettings,
    TrajectoryJudge,
    TrajectorySettings,
)
from tests.faults.fault_reports import Database
from tests.faults.findings import Findings
from tests.faults.scenarios import Place, Scenario
from tests.judging.evaluators.judges.test_milestones import SHOP
from tests.judging.evaluators.judges.test_single_stage import CALL
from tests.judging.evaluators.judges.test_trajectory import ORDER
from tests.judging.evaluators.judges.test_two_stage import AIRPORT
from tests.webagent.llm.stub import (
    Answer,
    Fault,
    cut_off,
    fail,
    go_wrong,
    refuse,
    running_stub,
    say,
)
from tests.webagent.llm.stub_models import ENVIRONMENT, NAMES, stub_registry
from webagent.llm.client import Client, RetryLimits

MOST_TRIES = 2
MOST_CALLS = 2 * MOST_TRIES
"""A reply that cannot be read is asked for once more."""
TIMEOUT_S = 0.3
AT_A_TIME = 8

FAULTS: dict[str, Answer] = {
    "429": fail(429, retry_after="0"),
    "500": fail(500),
    "503": fail(503),
    "529": fail(529),
    "400": fail(400),
    "401": fail(401),
    "no answer": go_wrong(Fault.NEVER_ANSWERS),
    "silence after half": go_wrong(Fault.STALLED),
    "cut connection": go_wrong(Fault.DROPPED),
    "cut JSON": go_wrong(Fault.TRUNCATED_BODY),
    "a page": go_wrong(Fault.NOT_JSON),
    "error in the stream": go_wrong(Fault.ERROR_IN_STREAM),
    "stream without an end": go_wrong(Fault.NO_END),
    "refusal": refuse(),
    "cut off": cut_off('{"rationale": "it'),
    "garbage": say("Well, \x00 it depends. \ufffd{[}"),
    "nothing": say(""),
    "not a number": say('{"rationale": "r", "verdict": NaN, "score": NaN, "items": [NaN]}'),
}

# What one judge says when it is asked through this client: its verdict, and what a call cost.
Judge = Callable[[Client, str], tuple[str, int]]


def _two_stages(client: Client, name: str) -> tuple[str, int]:
    judge = TwoStageJudge(language_model=client, settings=TwoStageSettings(model=name))
    judged = judge.judge(AIRPORT)
    return judged.verdict, sum(stage.asks for stage in judged.stages)


def _final_line(client: Client, name: str) -> tuple[str, int]:
    settings = SingleStageSettings(model=name, mode="final_line")
    judged = SingleStageJudge(language_model=client, settings=settings).judge([CALL])
    return judged.verdict, sum(stage.asks for stage in judged.stages)


def _trajectory(client: Client, name: str) -> tuple[str, int]:
    settings = TrajectorySettings(model=name)
    judged = TrajectoryJudge(language_model=client, settings=settings).judge(ORDER)
    return judged.verdict, sum(stage.asks for stage in judged.stages)


def _milestones(client: Client, name: str) -> tuple[str, int]:
    settings = MilestoneSettings(model=name)
    found = MilestoneJudge(language_model=client, settings=settings).judge(ORDER, SHOP)
    verdict = found.judged.verdict if found.progress is None else "progress"
    return verdict, sum(stage.asks for stage in found.judged.stages)


def _failures(client: Client, name: str) -> tuple[str, int]:
    settings = FailureSettings(model=name)
    found = FailureJudge(language_model=client, settings=settings).judge(replace(ORDER, answer="?"))
    verdict = found.judged.verdict if found.modes is None else "modes"
    return verdict, sum(stage.asks for stage in found.judged.stages)


JUDGES: dict[str, Judge] = {
    "two-stage": _two_stages,
    "single-stage": _final_line,
    "trajectory": _trajectory,
    "milestones": _milestones,
    "failure modes": _failures,
}


def providers(place: Place | None, times: int, findings: Findings) -> None:
    """Every judge meets every fault so often, over every protocol in turn."""
    findings.times = 0
    cases = [
        (judge, fault, NAMES[number % len(NAMES)])
        for number in range(times)
        for judge in JUDGES
        for fault in FAULTS
    ]
    with ThreadPoolExecutor(AT_A_TIME) as pool:
        for found, calls in pool.map(lambda case: meet(*case), cases):
            findings.times += 1
            findings.more["requests to the provider"] += calls
            findings.complain(found)
    findings.check()


def meet(judge: str, fault: str, name: str) -> tuple[list[str], int]:
    """What was wrong when the judge met the fault, and how many requests it made."""
    answer = FAULTS[fault]
    with running_stub() as stub:
        stub.reply = lambda asked: answer
        patience = RetryLimits(max_tries=MOST_TRIES, first_delay_s=0.0)
        registry = stub_registry(stub, timeout_s=TIMEOUT_S)
        with Client(registry, environment=ENVIRONMENT, patience=patience) as client:
            verdict, asks = JUDGES[judge](client, name)
        made = len(stub.asked)
    case = f"{judge}, {fault}, {name}"
    found = [] if verdict == "error" else [f"{case}: the verdict is {verdict!r}"]
    if not 1 <= made <= MOST_CALLS:
        found.append(f"{case}: {made} requests")
    if made < asks:
        found.append(f"{case}: {asks} calls are counted, {made} were made")
    return found, made


PROVIDERS = (
    Scenario(
        "providers fail",
        8,
        f"{len(FAULTS)} faults of a provider ({', '.join(FAULTS)}), met by each of"
        f" {len(JUDGES)} judges",
        16,
        providers,
        (Database.SQLITE,),
    ),
)
