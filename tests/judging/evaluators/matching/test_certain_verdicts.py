"""A judge is asked exactly where its reply decides the score; else the score is given, unpaid.

References, answers, addresses and pages are combined freely. What the score could be is computed
here for every possible reply of the judges, as the published evaluator multiplies.
"""

import json
from collections.abc import Iterator, Mapping
from itertools import product
from math import prod
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judging.evaluators.management.commands.score_cases import score_lines
from judging.evaluators.matchers import NEEDS_JUDGE, MatcherEvaluator
from judging.evaluators.matching.outcome import CheckVerdict
from judging.evaluators.matching.pipeline import NAMES, build_matcher
from judging.evaluators.matching.strict import clean_answer, exact_match, must_include, split_url
from judging.evaluators.pipelines import make_pipeline
from runs.models import Run, Task, TaskSet
from tests.webagent.llm.scripted import said
from webagent.llm.interface import Reply, Request

pytestmark = pytest.mark.slow

words = st.sampled_from(["Acadia", "N/A", "0", "not here", "1h 23min", "", "Acadia, 83 min"])
URL, PAGE = "http://h/a", "Cart"


@st.composite
def specifications(draw: st.DrawFn) -> dict[str, Any]:
    """Any combination of what can be compared, each part right or wrong."""
    texts = st.lists(words, max_size=2)
    approaches = st.fixed_dictionaries(
        {},
        optional={
            "exact_match": words,
            "must_include": texts,
            "fuzzy_match": texts | st.just("N/A"),
        },
    ).flatmap(lambda found: st.permutations(list(found.items())).map(dict))
    kinds = ["string_match", "url_match", "program_html"]
    return {
        "eval_types": draw(st.lists(st.sampled_from(kinds), max_size=3, unique=True)),
        "reference_answers": draw(approaches),
        "string_note": "there is none",
        "reference_url": draw(st.sampled_from([URL, "http://h/b"])),
        "program_html": [
            {
                "url": "last",
                "locator": "",
                "required_contents": {"exact_match": draw(st.sampled_from([PAGE, "Home"]))},
            }
        ],
    }


def published_score(spec: Mapping[str, Any], answer: str, replies: Iterator[bool]) -> float:
    """What the published evaluator says, when its judges reply so."""
    scores = []
    for kind in spec["eval_types"]:
        if kind == "url_match":
            base, wanted = (split_url(url)[0] for url in (URL, spec["reference_url"]))
            scores.append(float(wanted in base))
        elif kind == "program_html":
            required = spec["program_html"][0]["required_contents"]
            scores.append(float(exact_match(required["exact_match"], PAGE)))
        else:
            scores.append(_string_score(spec["reference_answers"], clean_answer(answer), replies))
    return prod(scores)


def _string_score(references: Mapping[str, Any], answer: str, replies: Iterator[bool]) -> float:
    score = 1.0
    for approach, value in references.items():
        if approach == "exact_match":
            score *= exact_match(value, answer)
        elif approach == "must_include":
            score *= prod(must_include(one, answer, tokenise=len(value) == 1) for one in value)
        elif value == "N/A":
            score *= exact_match("N/A", answer)
            score = score if score == 1 else float(next(replies))
        else:
            score *= prod([float(next(replies)) for _ in value])
    return score


def possible(spec: Mapping[str, Any], answer: str) -> set[float]:
    """The scores over all replies; no specification here asks more than two questions."""
    return {published_score(spec, answer, iter(said)) for said in product([True, False], repeat=2)}


def of_checks(checks: Any) -> set[float]:
    """The scores over all replies to the checks that wait for one."""
    weighing = [c["verdict"] for c in checks if c["verdict"] != CheckVerdict.IGNORED]
    options = [
        (0.0, 1.0) if each == CheckVerdict.NEEDS_JUDGE else (float(each == CheckVerdict.PASSED),)
        for each in weighing
    ]
    return {prod(scores) for scores in product(*options)}


def line_of(spec: Mapping[str, Any], answer: str) -> str:
    case = {"id": 1, "eval": spec, "answer": answer, "url": URL, "content": PAGE}
    return json.dumps(case)


def score(spec: Mapping[str, Any], answer: str, name: str = NAMES[0]) -> dict[str, Any]:
    (found,) = score_lines([line_of(spec, answer)], build_matcher(name))
    assert found["error"] is None
    return found


@settings(max_examples=200, deadline=None)
@given(specifications(), words)
def test_a_case_needs_a_judge_exactly_where_its_score_hangs_on_the_reply(spec, answer) -> None:
    found, scores = score(spec, answer), possible(spec, answer)
    assert found["needs_llm"] == (len(scores) > 1)
    assert found["score"] == (None if len(scores) > 1 else scores.pop())
    assert bool(found["judge_calls"]) == found["needs_llm"]
    bounds = (found["score_if_judge_all_fail"], found["score_if_judge_all_pass"])
    assert bounds == (min(possible(spec, answer)), max(possible(spec, answer)))


@settings(max_examples=200, deadline=None)
@given(specifications(), words)
def test_the_same_holds_under_the_repairs(spec, answer) -> None:
    found = score(spec, answer, "webarena-repaired")
    scores = of_checks(found["details"])
    assert found["needs_llm"] == (len(scores) > 1) == bool(found["judge_calls"])
    assert found["score"] == (None if len(scores) > 1 else scores.pop())


class Constant:
    """A language model that always says yes, or always no, and counts how often it is paid."""

    def __init__(self, *, yes: bool) -> None:
        self.yes = yes
        self.asked = 0

    def complete(self, request: Request) -> Reply:
        self.asked += 1
        if request.schema is None:
            return said("correct, the same" if self.yes else "incorrect, different")
        verdicts = {"equivalence": ("equivalent", "not_equivalent")}
        yes, no = verdicts.get(request.schema_name, ("same", "different"))
        verdict = yes if self.yes else no
        form = {"rationale": "", "steering": False, "control": "", "verdict": verdict}
        return said(json.dumps(form))


def run_of(spec: Mapping[str, Any], answer: str) -> Run:
    pages = {"final_url": URL, "pages": [{"text": PAGE}]}
    task = Task(pk=1, spec=dict(spec), goal="Which park?", task_set=TaskSet(name="parks"))
    return Run(task=task, final_answer=answer, evidence=pages, goal="Which park?")


@settings(max_examples=200, deadline=None)
@given(specifications(), words, st.sampled_from(NAMES))
def test_matchers_over_runs_give_what_is_certain(spec, answer, name) -> None:
    finding = MatcherEvaluator(build_matcher(name)).evaluate(run_of(spec, answer))
    scores = of_checks(finding.details["checks"])
    if len(scores) > 1:
        assert (finding.verdict, finding.reason, finding.score) == ("error", NEEDS_JUDGE, None)
    else:
        assert finding.score == scores.pop()


def judged(name: str, spec: Mapping[str, Any], answer: str, *, yes: bool) -> tuple[Any, int, bool]:
    """The pipeline's finding, how often its model was asked, and whether a price was announced."""
    model = Constant(yes=yes)
    more = {"after": {"tasks": "recorded", "judge": _ONE_STAGE}}.get(name, {})
    pipeline = make_pipeline(name, language_model=model, model="judge", **more)
    run = run_of(spec, answer)
    announced = pipeline.estimate(run) != (0, 0)
    return pipeline.evaluate(run), model.asked, announced


_ONE_STAGE = {"name": "two-stage-judge", "config": {"stages": ["equivalence"]}}


@pytest.mark.parametrize("name", ["before", "after"])
@settings(max_examples=100, deadline=None)
@given(spec=specifications(), answer=words)
def test_pipelines_pay_exactly_where_the_reply_decides(name, spec, answer) -> None:
    good, asked, announced = judged(name, spec, answer, yes=True)
    bad, asked_too, _ = judged(name, spec, answer, yes=False)
    decides = good.score != bad.score
    assert (asked > 0, asked_too > 0, announced) == (decides,) * 3
    if not decides:
        assert (good.cost, bad.cost) == (0, 0)


def test_what_was_not_captured_leaves_no_verdict_and_nobody_is_paid_to_judge_the_rest() -> None:
    spec = {
        "eval_types": ["string_match", "url_match"],
        "reference_answers": {"fuzzy_match": ["Acadia"]},
        "reference_url": URL,
    }
    case = {"id": 1, "eval": spec, "answer": "Zion"}
    for name in NAMES:
        (found,) = score_lines([json.dumps(case)], build_matcher(name))
        assert (found["score"], found["needs_llm"]) == (None, False)
        assert found["error"] == "the final URL was not recorded"
