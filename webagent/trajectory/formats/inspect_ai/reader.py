"""Read Inspect AI logs: every sample of every epoch is a run."""

from collections.abc import Iterator
from typing import Any

from webagent.trajectory.bundles import UNKNOWN, RunBundle, task_record
from webagent.trajectory.files.assembling import RunFiles, dollars, goal_pictures, model_names
from webagent.trajectory.files.originals import kept_pictures
from webagent.trajectory.files.recognition import Answers, Recognition, guarded
from webagent.trajectory.files.trees import Tree
from webagent.trajectory.formats.inspect_ai.logs import (
    HEADER,
    START,
    Log,
    files_of,
    find_logs,
    open_log,
    read_sample,
)
from webagent.trajectory.formats.inspect_ai.samples import (
    Content,
    Messages,
    ending,
    evaluations,
    input_tokens,
)
from webagent.trajectory.intake import Bounds, InputError, Problem
from webagent.trajectory.records import AgentRecord, StepRecord, TaskRecord, Totals
from webagent.trajectory.redaction import Redactor
from webagent.trajectory.texts import bounded_name
from webagent.trajectory.values import (
    cost,
    count,
    iso_moment,
    items,
    mapping,
    not_empty,
    number,
    said,
    text,
    total,
    whole,
)

FORMAT = "inspect_ai"
_SUBMITS = frozenset(("submit", "answer", "done", "finish"))
_USAGE = {
    "output_tokens": "output_tokens",
    "cached_tokens": "input_tokens_cache_read",
    "reasoning_tokens": "reasoning_tokens",
}


class InspectReader:
    """Every sample in an Inspect log is a run."""

    name = FORMAT
    signs = "*.eval, *.json"

    def find(self, tree: Tree, bounds: Bounds) -> Recognition:
        """The logs, with their samples counted; at least one each."""
        places = find_logs(tree, bounds)
        total = 0
        files: set[str] = set()
        for place in places:
            files.update(files_of(tree, place))
            try:
                samples = len(open_log(tree, place, bounds).samples)
            except InputError:
                samples = 0
            total += max(samples, 1)
        return Recognition(runs=total, files=frozenset(files))

    def read(self, tree: Tree, bounds: Bounds, answers: Answers) -> Iterator[RunBundle | Problem]:
        """Each log's samples in turn."""
        for place in find_logs(tree, bounds):
            source = f"{tree.label}/{place.path}".rstrip("/")
            try:
                log = open_log(tree, place, bounds)
            except InputError as error:
                yield error.rejection(source)
                continue
            listed = whole(mapping(log.header.get("results")).get("total_samples")) or 0
            if not log.samples or len(log.samples) < listed:
                reason = f"{len(log.samples)} of {listed}" if listed else "none in this log"
                yield Problem(source, place.path or source, "samples", reason)
            for key in log.samples:
                files = RunFiles(log.tree, "", {}, bounds, FORMAT)
                files.source = f"{source}#{key}"
                yield guarded(files.source, log.samples[key], _bundle, files, log, key)


def _bundle(files: RunFiles, log: Log, key: str) -> RunBundle:
    raw = read_sample(log, key, files.bounds)
    if not log.has_header:
        files.note("header", "header.json", "missing: the evaluation was cut short")
    files.check_numbers(raw, key)
    files.check_numbers(log.header, HEADER)
    stripped, found = files.without_pictures(raw, key)
    pictures = {blob.sha256: blob.model_copy(update={"role": "screenshot"}) for blob in found}
    kept_pictures(files, log.prefix, stripped, pictures)
    files.redactor = Redactor(_words_of_input(stripped))
    sample = mapping(files.clean_json(stripped))
    header = mapping(files.clean_json(log.header))
    messages = Messages(files, sample, pictures)
    files.run_id = bounded_name(f"{log.place.path or files.given_name}#{key}")
    told = _input(messages, sample)
    task = _task(files, sample, header, key, told)
    steps = messages.steps()
    if sample.get("invalidation"):
        files.note("validity", key, "somebody marked this sample as not valid")
    evaluated, plan = mapping(header.get("eval")), mapping(header.get("plan"))
    version = text(mapping(evaluated.get("packages")).get("inspect_ai"))
    solvers = [text(mapping(step).get("solver")) for step in items(plan.get("steps"))]
    config = {"plan": plan} | {
        key: evaluated.get(key) for key in ("task_args", "config", "model_generate_config")
    }
    trial = max(whole(sample.get("epoch")) or 1, 1)
    kept: dict[str, Any] = {key: sample.get(key) for key in ("limit", "uuid", "invalidation")}
    kept["error_retries"] = items(sample.get("error_retries"))
    # A run's trial is not its content, but epochs that went alike are no copies of each other.
    kept |= {"epoch": trial} if trial > 1 else {}
    return files.assemble(
        task,
        steps,
        f"{log.place.path}#{key}",
        format_version=str(whole(header.get("version")) or UNKNOWN),
        tool="inspect_ai",
        tool_version=version,
        agent=AgentRecord(
            name=bounded_name("+".join(filter(None, solvers)) or "inspect"),
            config=not_empty(config) or None,
        ),
        models=model_names([text(evaluated.get("model")), *mapping(sample.get("model_usage"))]),
        experiment=_experiment(files, log, evaluated),
        trial=trial,
        started_at=iso_moment(sample.get("started_at")),
        ended_at=iso_moment(sample.get("completed_at")),
        **vars(ending(sample, text(header.get("status")))),
        final_answer=_answer(messages, sample),
        totals=_totals(sample, steps),
        extra=files.free_form(kept, "sample"),
        originals=(
            files.original(f"samples/{key}.json", sample),
            files.original(HEADER if log.has_header else START, header),
        ),
        evaluations=tuple(evaluations(files.run_id, sample, header, version or UNKNOWN)),
    )


def _words_of_input(sample: dict[str, Any]) -> str:
    given = sample.get("input")
    if isinstance(given, str):
        return given
    contents = (message.get("content") for message in map(mapping, items(given)))
    return "\n".join(words for content in contents for words in said(content))


def _input(messages: Messages, sample: dict[str, Any]) -> Content:
    """What was asked, with the pictures that came with it; a system's message is no goal."""
    given = sample.get("input")
    if isinstance(given, str):
        return messages.content(given)
    asked = [mapping(message) for message in items(given)]
    contents = [messages.content(m.get("content")) for m in asked if m.get("role") == "user"]
    words = "\n".join(content.words for content in contents if content.words)
    return Content(words, "", tuple(p for content in contents for p in content.pictures))


def _task(
    files: RunFiles, sample: dict[str, Any], header: dict[str, Any], key: str, told: Content
) -> TaskRecord:
    evaluated = mapping(header.get("eval"))
    name = bounded_name(text(evaluated.get("task")) or FORMAT)
    version = evaluated.get("task_version")
    shown = str(version)[:100] if version not in (None, "") else UNKNOWN
    sample_id = sample.get("id")
    external_id = bounded_name(str(sample_id) if sample_id not in (None, "") else key)
    specification = {"scorers": evaluated.get("scorers"), "metadata": sample.get("metadata")}
    return task_record(
        name,
        external_id,
        version=shown,
        goal=(*files.goal(told.words), *goal_pictures(told.pictures)),
        eval=not_empty(specification) or None,
        reference=sample.get("target"),
    )


def _experiment(files: RunFiles, log: Log, evaluated: dict[str, Any]) -> str | None:
    created = text(evaluated.get("created")) or ""
    name = text(evaluated.get("task")) or log.place.path.rpartition("/")[2] or files.given_name
    return bounded_name(f"{name} {created}".strip()) or None


def _answer(messages: Messages, sample: dict[str, Any]) -> str | None:
    """What was submitted, or the last words; none where a call for a tool is the last word."""
    for choice in map(mapping, items(mapping(sample.get("output")).get("choices"))):
        message = mapping(choice.get("message"))
        calls = [mapping(call) for call in items(message.get("tool_calls"))]
        for call in calls:
            if text(call.get("function")) in _SUBMITS:
                words = [v for v in mapping(call.get("arguments")).values() if isinstance(v, str)]
                return words[0] if words else None
        if not calls:
            return messages.content(message.get("content")).words or None
    return None


def _totals(sample: dict[str, Any], steps: tuple[StepRecord, ...]) -> Totals:
    """Sums over all models of the sample, as it reports them."""
    models = [mapping(model) for model in mapping(sample.get("model_usage")).values()]
    sums = {name: total(count(model.get(key)) for model in models) for name, key in _USAGE.items()}
    return Totals(
        input_tokens=total(map(input_tokens, models)),
        **sums,
        **dollars(total(cost(model.get("total_cost")) or None for model in models)),
        llm_calls=sum(len(step.llm_calls) for step in steps) or None,
        retries=len(items(sample.get("error_retries"))) or None,
        seconds=number(sample.get("total_time")),
    )
