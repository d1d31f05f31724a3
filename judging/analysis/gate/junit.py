"""A gate's decision as JUnit XML, which continuous integration shows as test results."""

from __future__ import annotations

import re
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from judging.analysis.gate.decision import Decision, TaskLine
from judging.analysis.gate.report import Report, gaps, points, task_words, write_text

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
        _task(suite, line, made)
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


def _task(suite: Element, line: TaskLine, made: Decision) -> None:
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
