"""A gate's decision as text for a terminal and as JSON for programs."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from judging.analysis.experiments.population import Source
from judging.analysis.gate.decision import Decision, Finding, Metric, TaskLine, Trials
from judging.analysis.gate.reading import Contestant
from judging.statistics.figures import LEVEL

SCHEMA = "crosscheck-regression-gate/1"
"""Members may be added under this name; none is taken away or given another meaning."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """A decision with whom it is about and whose verdicts it counts."""

    baseline: Contestant
    candidate: Contestant
    source: Source
    decision: Decision
    worst: int = 10
    """So many of the tasks that lost most are named in the text."""

    @property
    def metric_name(self) -> str:
        made = self.decision
        return f"pass@{made.k}" if made.metric is Metric.PASS_AT_K else made.metric.value

    @property
    def verdict(self) -> str:
        """The whole in one line, with its figures: drop, interval and what is allowed in points."""
        made = self.decision
        word = "FAILED" if made.failed else "PASSED"
        how = " (strict)" if made.rule.strict and made.finding is Finding.WITHIN_NOISE else ""
        low, high = points(made.interval.low), points(made.interval.high)
        return (
            f"{word}{how}: {made.finding.label}. "
            f"{self.metric_name} {percent(made.means[0])} -> {percent(made.means[1])}, "
            f"a drop of {points(made.drop)} points "
            f"({100 * LEVEL:g} % interval {low} to {high}), "
            f"{100 * made.rule.max_drop:g} allowed"
        )


def percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def points(share: float) -> str:
    """A difference of shares in percentage points, without a negative nought."""
    return f"{round(100 * share, 1) + 0.0:.1f}"


def write_text(report: Report) -> str:
    return "\n".join(_lines(report)) + "\n"


def _lines(report: Report) -> Iterator[str]:
    made = report.decision
    yield f"Regression gate: {report.metric_name} by {report.source.key} ({report.source.name})"
    yield f"  baseline   {report.baseline.name}"
    yield f"  candidate  {report.candidate.name}"
    yield f"  compared   {len(made.compared)} of {len(made.lines)} tasks, {_trials(made.compared)}"
    yield ""
    yield report.verdict
    if not made.failed and made.cannot_rule_out:
        yield (
            f"A drop of up to {points(made.interval.high)} points is not ruled out: "
            "more tasks or trials would tell."
        )
    worse = [line for line in made.compared if (line.drop or 0) > 0][: report.worst]
    if worse:
        yield ""
        yield "Worst tasks (baseline -> candidate, trials):"
        yield from (f"  {task_name(line)}: {task_words(line)}" for line in worse)
    if made.incomplete:
        yield ""
        yield "Compared on fewer trials than there should be:"
        yield from (f"  {task_name(line)}: {gaps(line)}" for line in made.incomplete)
    if partial := sum(line.baseline.partial + line.candidate.partial for line in made.compared):
        yield ""
        yield f"The progress of {partial} trials is over some of their task's milestones only."
    if made.not_compared:
        yield ""
        yield "Not compared:"
        yield from (f"  {task_name(line)}: {gaps(line)}" for line in made.not_compared)


def task_name(line: TaskLine) -> str:
    task_set, task = line.task
    return f"{task_set}/{task}"


def task_words(line: TaskLine) -> str:
    """What a task has on both sides, in one line."""
    before, after = (
        f"{'none' if score is None else percent(score)} of {len(trials.values)}"
        for score, trials in zip(line.scores, (line.baseline, line.candidate), strict=True)
    )
    return f"{before} -> {after}"


def gaps(line: TaskLine) -> str:
    """Which trials say nothing, on which side, and why; or that there are too few for k."""
    found = []
    sides = (("baseline", line.baseline), ("candidate", line.candidate))
    for (name, trials), missing in zip(sides, line.missing, strict=True):
        reasons = [f"{n} {reason}" for reason, n in sorted(trials.silent.items())]
        if missing:
            reasons.append(f"{missing} missing")
        if reasons:
            found.append(f"{name} {', '.join(reasons)}")
    if not found:
        found.append(f"too few trials: {len(line.baseline.values)}, {len(line.candidate.values)}")
    return "; ".join(found)


def write_json(report: Report) -> str:
    """The report for programs. Scores and drops are shares of 1; null where there is none."""
    made = report.decision
    value = {
        "schema": SCHEMA,
        "failed": made.failed,
        "finding": made.finding.value,
        "verdict": report.verdict,
        "metric": made.metric.value,
        "k": made.k if made.metric is Metric.PASS_AT_K else None,
        "source": {"key": report.source.key, "name": report.source.name},
        "rule": asdict(made.rule),
        "baseline": _side(report.baseline, made.means[0]),
        "candidate": _side(report.candidate, made.means[1]),
        "drop": made.drop,
        "interval": {
            "low": made.interval.low,
            "high": made.interval.high,
            "level": LEVEL,
            "method": made.interval.method,
        },
        "cannot_rule_out_max_drop": made.cannot_rule_out,
        "tasks_compared": len(made.compared),
        "tasks_not_compared": len(made.not_compared),
        "tasks_incomplete": len(made.incomplete),
        "tasks": [_task(line) for line in made.lines],
    }
    return json.dumps(value, ensure_ascii=False, indent=2) + "\n"


def _side(of: Contestant, score: float) -> dict[str, object]:
    return {
        "experiment": of.experiment.name,
        "experiment_id": of.experiment.pk,
        "configuration": of.agent_name,
        "configuration_ids": [agent.pk for agent in of.agents],
        "mean": score,
    }


def _task(line: TaskLine) -> dict[str, object]:
    sides = zip((line.baseline, line.candidate), line.scores, line.missing, strict=True)
    before, after = (_of_task(trials, score, missing) for trials, score, missing in sides)
    return {
        "task_set": line.task[0],
        "task": line.task[1],
        "drop": line.drop,
        "baseline": before,
        "candidate": after,
    }


def _of_task(trials: Trials, score: float | None, missing: int) -> dict[str, object]:
    return {
        "score": score,
        "values": list(trials.values),
        "without_value": dict(sorted(trials.silent.items())),
        "missing": missing,
        "partial": trials.partial,
    }


def _trials(lines: Sequence[TaskLine]) -> str:
    before = sum(len(line.baseline.values) for line in lines)
    after = sum(len(line.candidate.values) for line in lines)
    return f"{before} and {after} trials with a value"


SUITE = "regression_gate"
WHOLE = "no regression"
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that no XML document may hold, however they are escaped."""


def write_junit(report: Report) -> str:
    """A test case for the whole and one a task.

    The whole fails where the gate does. A task fails if it lost more than is allowed where the
    gate fails too: single tasks go up and down by chance, and a gate that passes shows no red.
    Tasks that cannot be compared are skipped, with the reason.
    """
    made = report.decision
    suites = Element("testsuites", name="Crosscheck")
    suite = SubElement(suites, "testsuite", name=SUITE, time="0")
    whole = _case(suite, SUITE, WHOLE)
    if made.failed:
        _failure(whole, report.verdict)
    SubElement(whole, "system-out").text = clean(write_text(report))
    for line in made.lines:
        _test_case(suite, line, made)
    counts = {
        "tests": len(suite.findall("testcase")),
        "failures": len(suite.findall("testcase/failure")),
        "errors": 0,
        "skipped": len(suite.findall("testcase/skipped")),
    }
    for element in (suites, suite):
        for name, number in counts.items():
            element.set(name, str(number))
    indent(suites)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{tostring(suites, encoding="unicode")}\n'


def clean(text: str) -> str:
    """The text without what XML cannot hold; names of tasks come from outside."""
    return _NOT_XML.sub("\ufffd", text)


def _test_case(suite: Element, line: TaskLine, made: Decision) -> None:
    task_set, task = line.task
    case = _case(suite, f"{SUITE}.{task_set}", task)
    if line.drop is None:
        SubElement(case, "skipped", message=clean(gaps(line)))
        return
    if made.failed and line.drop > made.rule.max_drop:
        _failure(case, f"a drop of {points(line.drop)} points: {task_words(line)}")
    said = task_words(line) if line.is_whole else f"{task_words(line)}; {gaps(line)}"
    SubElement(case, "system-out").text = clean(said)


def _case(suite: Element, classname: str, name: str) -> Element:
    return SubElement(suite, "testcase", classname=clean(classname), name=clean(name), time="0")


def _failure(case: Element, message: str) -> None:
    failure = SubElement(case, "failure", type="regression", message=clean(message))
    failure.text = clean(message)
