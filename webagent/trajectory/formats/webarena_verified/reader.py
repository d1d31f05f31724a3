"""Read WebArena-Verified's output: one run per task folder."""

from collections.abc import Iterator
from functools import partial
from typing import Any

from webagent.trajectory.bundles import UNKNOWN, RunBundle, task_record
from webagent.trajectory.files.assembling import (
    RunFiles,
    evaluator,
    experiment_above,
    first_start,
    last_end,
    seconds_between,
)
from webagent.trajectory.files.recognition import PlacesReader, RunPlace
from webagent.trajectory.files.trees import Tree
from webagent.trajectory.formats.playwright.reader import kept_trace
from webagent.trajectory.formats.webarena_verified.folders import (
    LOG,
    RESPONSE,
    RESULT,
    SETTINGS,
    SUMMARY,
    Answer,
    Result,
    TaskFolder,
    find_task_folders,
    read_answer,
    read_result,
)
from webagent.trajectory.formats.webarena_verified.network import (
    Request,
    page_loads,
    read_trace,
    requests_of,
    step_records,
    titles_of,
    with_requests,
)
from webagent.trajectory.intake import Bounds, InputError
from webagent.trajectory.records import (
    AgentRecord,
    BlobRecord,
    EndReason,
    Outcome,
    StepRecord,
    TaskRecord,
    Totals,
)
from webagent.trajectory.texts import bounded_name
from webagent.trajectory.values import items, mapping, not_none, number, text, whole
from webagent.trajectory.verdict_records import CheckRecord, EvaluationRecord

FORMAT = "webarena_verified"
TASK_SET, HAR_TASK_SET = "webarena-verified", "har"
_STORAGE = ("storage_state", "storagestate")
_LOG_IN = ("auth", ".auth")
_OUTCOMES = {"passed": Outcome.SUCCESS, "failed": Outcome.FAILURE, "error": Outcome.ERROR}
_SUMS = ("webarena_verified_evaluator_checksum", "webarena_verified_data_checksum")
_CHECKSUM_CHARS = 12


def _places(tree: Tree, bounds: Bounds) -> Iterator[RunPlace]:
    folders = find_task_folders(tree)
    beside: dict[str, list[str]] = {f.path.rpartition("/")[0]: [] for f in folders if f.path}
    for name in tree.names:
        parent, _, last = name.rpartition("/")
        if parent in beside and last in (SUMMARY, LOG, SETTINGS):
            beside[parent].append(name)
    for folder in folders:
        yield RunPlace(
            path=folder.path,
            files=folder.files,
            own=folder.files.values(),
            beside=beside[folder.path.rpartition("/")[0]] if folder.path else (),
            file=folder.path,
            read=partial(_bundle, folder),
        )


WEBARENA_VERIFIED = PlacesReader(
    FORMAT, "agent_response.json, eval_result.json, network.har, *.har", _places
)


def _bundle(folder: TaskFolder, files: RunFiles) -> RunBundle:
    answer = _answer(files)
    result, raw_result = _result(files)
    har = mapping(files.read_json(folder.har)) if folder.har else {}
    if answer is None and result is None and not har and folder.trace is None:
        raise InputError("", "neither a response nor a result nor a trace", file=folder.path)
    task = _task(folder, result)
    files.run_id = bounded_name(folder.path or folder.name)
    traced = read_trace(files, folder.trace) if folder.trace else None
    steps = _steps(files, har, traced)
    if not har and not traced:
        files.note("network", folder.path, "no HAR")
    if not traced or not traced[0]:
        files.note("screenshot", folder.path, "this format holds no pictures and no actions")
    if folder.is_lone:
        files.note("response", folder.path, "a HAR by itself: pages and requests alone are kept")
    if answer is None:
        files.note("answer", RESPONSE, "missing: the run broke off, or was never asked")
    started, ended = first_start(steps), last_end(steps)
    creator = mapping(mapping(har.get("log")).get("creator"))
    browser = " ".join(str(creator.get(key) or "") for key in ("name", "version")).strip()
    told = {"har_creator": browser, "task_type": answer and answer.task_type}
    verdict = result.verdict if result else None
    originals: list[BlobRecord | None] = []
    if har:
        originals.append(files.original(folder.har or "network.har", files.clean_json(har)))
    if folder.trace and traced:
        originals.append(kept_trace(files, folder.trace, is_zip=True))
    if raw_result:
        originals.append(files.original(RESULT, files.clean_json(raw_result)))
    if answer:
        words = files.redactor.text(answer.raw)
        originals.append(files.text_blob(words, "source", RESPONSE, "application/json"))
    for path in folder.files:
        if _holds_cookies(path):
            files.drop("storage state", path, "holds log-in cookies")
    first = next((blob.name for blob in originals if blob and blob.name), "")
    return files.assemble(
        task,
        steps,
        f"{folder.path}/{first}".strip("/"),
        tool="webarena-verified",
        tool_version=result.version if result else None,
        originals=originals,
        evaluations=(_evaluation(files, result),) if result else (),
        agent=AgentRecord(name=UNKNOWN),
        experiment=experiment_above(folder.path, files.given_name),
        started_at=started,
        ended_at=ended,
        # As the source claims: an evaluator that failed leaves an error, never a failure. Its
        # message stands with the evaluation alone: it tells what was expected.
        outcome=_OUTCOMES[verdict]
        if verdict
        else Outcome.UNKNOWN
        if answer
        else Outcome.INCOMPLETE,
        end_reason=EndReason.AGENT_STOPPED if answer else EndReason.UNKNOWN,
        reward=number(result.content.get("score")) if result and verdict != "error" else None,
        claimed_success=answer.claims_success if answer else None,
        final_answer=files.clean(answer.words) if answer else None,
        infeasible_claim=files.clean(answer.refusal) if answer else None,
        totals=Totals(seconds=seconds_between(started, ended)),
        extra=files.clean_json(told),
    )


def _steps(
    files: RunFiles,
    har: dict[str, Any],
    traced: tuple[tuple[StepRecord, ...], list[Request]] | None,
) -> tuple[StepRecord, ...]:
    """What a trace tells was done, or else which pages were loaded; each with its requests."""
    acted, sent = traced or ((), [])
    requests = requests_of(har) or sent
    if acted:
        return tuple(with_requests(files, acted, requests))
    return tuple(step_records(files, page_loads(requests, titles_of(har))))


def _task(folder: TaskFolder, result: Result | None) -> TaskRecord:
    said = result.content if result else {}
    task_id = whole(said.get("task_id"))
    external_id = folder.name if task_id is None else str(task_id)
    expected = [check.expected for check in result.checks if check.expected] if result else []
    extra = {
        "intent_template_id": whole(said.get("intent_template_id")),
        "revision": whole(said.get("task_revision")),
    }
    version = bounded_name(result.version) if result else UNKNOWN
    # A HAR by itself does not tell of which benchmark its run is.
    task_set = HAR_TASK_SET if folder.is_lone else TASK_SET
    sites = (site for site in items(said.get("sites")) if isinstance(site, str))
    return task_record(
        task_set,
        bounded_name(external_id),
        id=bounded_name(f"{task_set}@{version}:{external_id}"),
        version=version,
        sites=tuple(map(bounded_name, sites)),
        reference=expected[0] if len(expected) == 1 else expected or None,
        extra=not_none(extra) or None,
    )


def _evaluation(files: RunFiles, result: Result) -> EvaluationRecord:
    """The evaluation with its checks; the checksums of code and data are part of the version."""
    sums = {key: text(result.content.get(key)) for key in _SUMS}
    short = [(known or "unknown")[:_CHECKSUM_CHARS] for known in sums.values()]
    version = f"{result.version[:60]}+{short[0]}.{short[1]}"
    checks = (
        CheckRecord(
            name=bounded_name(check.name),
            verdict=check.verdict,
            expected=files.clean_json(check.expected),
            actual=files.clean_json(check.actual),
            message=files.clean(check.message),
        )
        for check in result.checks
    )
    return EvaluationRecord(
        id=bounded_name(f"{files.run_id}-verified"),
        run_id=files.run_id,
        evaluator=evaluator(
            TASK_SET, "matcher", version, {"webarena_verified_version": result.version} | sums
        ),
        verdict=result.verdict,
        score=number(result.content.get("score")),
        checks=tuple(checks),
        rationale=files.clean(result.message),
        extra={"status": (text(result.content.get("status")) or "").lower()},
    )


def _answer(files: RunFiles) -> Answer | None:
    if RESPONSE not in files.files:
        return None
    answer = read_answer(files.read_text(RESPONSE))
    if not answer.is_json:
        files.note("answer", RESPONSE, "prose instead of the JSON that was asked for")
    return answer


def _result(files: RunFiles) -> tuple[Result | None, Any]:
    if RESULT not in files.files:
        files.note("evaluation", RESULT, "missing: the task was not evaluated")
        return None, None
    value = files.read_json(RESULT)
    result = read_result(value)
    if result is None:
        files.note("evaluation", RESULT, "not an evaluation that is understood")
    return result, value


def _holds_cookies(path: str) -> bool:
    """Whether a file is a browser's state after log-in, by its name."""
    name = path.rpartition("/")[2]
    if not name.endswith(".json"):
        return False
    return any(part in name for part in _STORAGE) or path.startswith(_LOG_IN) and path == name
