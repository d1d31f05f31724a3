"""Hostile values of other types than text, for what reads, searches, compares or ranks them."""

import io
import json
import pickle
from collections.abc import Callable
from datetime import UTC, datetime

from judging.evaluators import failure_detection
from judging.evaluators.matching.task_data import ambiguity
from judging.portability.judgements import rows
from runs.catalogue.milestones import definitions
from runs.catalogue.patches import files as patch_files
from runs.viewer import comparison
from webagent.knowledge import relevance
from webagent.knowledge.entries import Relatedness
from webagent.knowledge.relevance import Relevance
from webagent.llm import anthropic_messages, openai_messages
from webagent.recovery import anomalies
from webagent.trajectory import axtree, live, recording
from webagent.trajectory.files import inert_pickle
from webagent.trajectory.formats.playwright import events
from webagent.trajectory.records import Box

Make = Callable[[int], Callable[[], object]]


def _loops(period: int) -> Make:
    def make(n: int) -> Callable[[], object]:
        done = [(f"click('{place % period}')", "page") for place in range(n)]
        return lambda: anomalies.find_loops(done)

    return make


def _detected(n: int) -> Callable[[], object]:
    steps = [failure_detection.StepSeen(index=i, action="click", page="p") for i in range(n)]
    seen = failure_detection.RunSeen(steps=steps, anomalies=[(n + i, n + i) for i in range(n)])
    return lambda: failure_detection.detect(seen)


def _aligned(period: int) -> Make:
    def make(n: int) -> Callable[[], object]:
        one = [(i, ("click", str(i % period))) for i in range(n)]
        other = [(i, ("click", str(i * 7 % (period + 1)))) for i in range(n)]
        return lambda: comparison.align(one, other)

    return make


def _ranked(n: int) -> Callable[[], object]:
    texts = [f"buy the {i} of word{i % 50}" for i in range(n)]
    return lambda: Relevance(texts).best(" ".join(texts[:100]), 10)


def _related(n: int) -> Callable[[], object]:
    tasks = [relevance.DescribedTask(str(i), frozenset({"shop"}), "a b c") for i in range(n)]
    return lambda: relevance.Sources(tasks).choose(tasks[0], Relatedness.SAME_SITE_HIGHEST)


def _tree(n: int) -> str:
    return "RootWebArea 'x'\n" + "\n".join(f"\t[{i}] generic ''" for i in range(n))


def _observation(n: int) -> live.Observation:
    boxes = {str(i): Box(x=0, y=0, width=1, height=1) for i in range(n)}
    at = datetime(2026, 1, 1, tzinfo=UTC)
    return live.Observation(
        at=at, goal="", url="", title="", screenshot=b"", width=9, height=9, axtree=_tree(n),
        boxes=boxes,
    )  # fmt: skip


def _aimed(n: int) -> Callable[[], object]:
    action = "\n".join(f"click('{i}')" for i in range(n))
    return lambda: recording.recorded_actions(action, _observation(n), ())


def _elements(n: int) -> Callable[[], object]:
    return lambda: recording.page_elements(_observation(n))


def _texts(n: int) -> Callable[[], object]:
    nodes = axtree.parse_axtree(_tree(n))
    return lambda: [axtree.text_at(nodes, place) for place in range(n)]


def _fingerprint(n: int) -> Callable[[], object]:
    tabs = [f"http://a/{i}?b={i}" for i in range(n)]
    return lambda: axtree.page_fingerprint("http://a", _tree(n), tabs)


def _rows(write: Callable[[int], str]) -> Make:
    def make(n: int) -> Callable[[], object]:
        content = write(n).encode()
        return lambda: list(rows.read_rows(io.BytesIO(content)))

    return make


def _tasks(n: int) -> Callable[[], object]:
    tasks = [{"task": str(i), "milestones": []} for i in [*range(n), n - 1]]
    content = json.dumps({"task_set": {"name": "a", "version": "1"}, "tasks": tasks}).encode()
    return _refused(lambda: definitions.read_file(content), definitions.MilestoneFileError)


def _patch(n: int) -> Callable[[], object]:
    content = json.dumps({"entries": [{"task": str(i), "changes": []} for i in range(n)]}).encode()
    return _refused(lambda: patch_files.parse_patch(content, "a"), patch_files.PatchFileError)


def _pickle(value: Callable[[int], object]) -> Make:
    def make(n: int) -> Callable[[], object]:
        content = pickle.dumps(value(n))
        return lambda: inert_pickle.load(content)

    return make


def _stream(read: Callable[..., object], event: dict[str, object], *more: object) -> Make:
    def make(n: int) -> Callable[[], object]:
        return _refused(lambda: read([event] * n, "model", *more), Exception)

    return make


def _trace(n: int) -> Callable[[], object]:
    head = {"type": "context-options", "version": 6}
    calls = [{"type": "before", "callId": f"c{i}", "startTime": n - i} for i in range(n)]
    lines = [json.dumps(one) for one in (head, *calls)]

    def work() -> object:
        trace = events.read_events(lines)
        return [trace.wall_seconds(call.start) for call in trace.calls]

    return work


def _refused(work: Callable[[], object], error: type[Exception]) -> Callable[[], object]:
    def tried() -> object:
        try:
            return work()
        except error:
            return None

    return tried


def _asked(n: int) -> Callable[[], object]:
    """Tasks that could be asked for an amount, of one template, some of which refuse."""
    spec = {"eval_types": ["string_match"], "reference_answers": {"must_include": ["12.50"]}}
    none = {"eval_types": ["string_match"], "reference_answers": {"fuzzy_match": "N/A"}}
    tasks = [
        ambiguity.AskedTask(
            id=str(i), goal="How much is it " * 20, spec=none if i % 7 == 0 else spec, group="one"
        )
        for i in range(n)
    ]
    long = ambiguity.AskedTask(id="long", goal="what is " * n, spec=spec)
    return lambda: ambiguity.find_ambiguities([*tasks, long])


_DELTA: dict[str, object] = {"choices": [{"index": 0, "delta": {"content": "ab"}}]}
_BLOCK: dict[str, object] = {
    "type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "ab"},
}  # fmt: skip
WORKS: dict[str, tuple[Callable[..., object], Make]] = {
    "loops of one action": (anomalies.find_loops, _loops(1)),
    "loops of none": (anomalies.find_loops, _loops(10**9)),
    "false completions": (
        anomalies.find_false_completions,
        lambda n: lambda: anomalies.find_false_completions([True] * n),
    ),
    "failures": (failure_detection.detect, _detected),
    "runs of one step": (comparison.align, _aligned(1)),
    "runs of a few steps": (comparison.align, _aligned(7)),
    "runs of other steps": (comparison.align, _aligned(10**9)),
    "ambiguous tasks": (ambiguity.find_ambiguities, _asked),
    "relevance": (Relevance, _ranked),
    "relatedness": (relevance.Sources, _related),
    "actions on a page": (recording.recorded_actions, _aimed),
    "elements of a page": (recording.page_elements, _elements),
    "texts of a page": (axtree.text_at, _texts),
    "fingerprint": (axtree.page_fingerprint, _fingerprint),
    "rows": (rows.read_rows, _rows(lambda n: "run_id,verdict\n" + "a,b\n" * n)),
    "columns": (
        rows.read_rows,
        _rows(lambda n: "run_id," + ",".join(f"c{i}" for i in range(n)) + "\n"),
    ),
    "lines of one cell": (rows.read_rows, _rows(lambda n: 'run_id\n"' + "\n" * n + '"\n')),
    "JSON lines": (rows.read_rows, _rows(lambda n: '{"run_id": "a"}\n' * n)),
    "milestones": (definitions.read_file, _tasks),
    "patch": (patch_files.parse_patch, _patch),
    "pickled list": (inert_pickle.load, _pickle(lambda n: [[i] for i in range(n)])),
    "pickled bytes": (inert_pickle.load, _pickle(lambda n: bytearray(n))),
    "stream of chat": (
        openai_messages.read_chat_stream,
        _stream(openai_messages.read_chat_stream, _DELTA),
    ),
    "stream of messages": (
        anthropic_messages.read_stream,
        _stream(anthropic_messages.read_stream, _BLOCK),
    ),
    "stream of responses": (
        openai_messages.read_response_stream,
        _stream(
            openai_messages.read_response_stream,
            {"type": "response.output_text.delta", "delta": "ab", "output_index": 0},
            None,
        ),
    ),
    "calls of a trace": (events.read_events, _trace),
}
