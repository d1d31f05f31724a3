"""The published URL and page evaluators, case by case."""

import pytest

from judging.evaluators.matching.outcome import MatchOutcome, MatchTask
from judging.evaluators.matching.strict import StrictMatcher
from tests.judging.evaluators.matching.factories import ended_at, page_task, showing, url_task

STRICT = StrictMatcher()
HOST = "http://localhost:8023"


@pytest.mark.parametrize(
    ("reference", "page", "passes"),
    [
        ("/f/nyc", "/f/nyc/", True),
        ("/f/nyc", "/f/nyc#top", True),
        ("/f/nyc", "/f/nyc?sort=new", True),
        ("/a?x=1&y=2", "/a?y=2&x=1&z=3", True),
        ("/a?q=usb+wifi", "/a?q=usb%20wifi", True),
        ("/a?l[]=bug", "/a?l%5B%5D=bug", True),
        ("/issues/?sort=x", "/issues?sort=x", False),
        ("/issues?sort=x", "/issues?sort=x/", True),
        ("/f/nyc", "/f/nyc/123/title", True),
        ("/f/nyc", "/f/nycxyz", True),
        ("/issues/8", "/issues/80", True),
        ("/f/machinelearning", "/f/MachineLearning", False),
        ("/a-b", "/a%2Db", False),
        ("/a?q=x%20", "/a?q=x", False),
        ("/a?dir=asc", "/a", False),
        ("/a?dir=asc", "/a?dir=desc", False),
        ("/a?dir=asc", "/a?dir=desc&dir=asc", True),
    ],
)
def test_url_on_the_same_host(reference, page, passes):
    found = STRICT.evaluate(url_task(HOST + reference), ended_at(HOST + page))
    assert found.verdict == ("passed" if passes else "failed")


@pytest.mark.parametrize(
    ("page", "passes"),
    [
        ("https://localhost:8023/a", True),
        ("http://evil.example/localhost:8023/a", True),
        ("http://x.localhost:8023/a", True),
        ("http://user:pw@localhost:8023/a", True),
        ("http://127.0.0.1:8023/a", False),
        ("http://LOCALHOST:8023/a", False),
        ("http://localhost/a", False),
    ],
)
def test_url_on_another_host(page, passes):
    found = STRICT.evaluate(url_task(HOST + "/a"), ended_at(page))
    assert found.verdict == ("passed" if passes else "failed")


@pytest.mark.parametrize(
    ("reference", "page", "passes"),
    [
        ("/b |OR| {h}/a", "/a", True),
        ("/b |OR| {h}/a", "/c", False),
        ("/b |or| {h}/a", "/a", False),
        ("/a?x=1 |OR| {h}/b?y=2", "/a?x=1", False),
        ("/a?x=1 |OR| {h}/b?y=2", "/a?x=1&y=2", True),
        ("/a?x=1 |OR| {h}/b?x=2", "/a?x=2", True),
    ],
)
def test_url_alternatives_pool_their_queries(reference, page, passes):
    task = url_task(HOST + reference.format(h=HOST))
    assert STRICT.evaluate(task, ended_at(HOST + page)).verdict == (
        "passed" if passes else "failed"
    )


@pytest.mark.parametrize("reference", ["", "/", "///"])
def test_empty_reference_matches_any_page(reference):
    assert STRICT.evaluate(url_task(reference), ended_at("http://x/")).verdict == "passed"


def test_url_errors():
    page = ended_at("http://x/")
    assert STRICT.evaluate(url_task("http://x", url_note="EXACT"), page).verdict == "error"
    assert STRICT.evaluate(url_task(None), page).verdict == "error"
    assert STRICT.evaluate(url_task("http://x"), ended_at("http://[x/")).verdict == "error"
    missing = STRICT.evaluate(url_task("http://x"), ended_at(None))
    assert (missing.verdict, missing.error) == ("error", "the final URL was not recorded")


@pytest.mark.parametrize(
    ("required", "text", "passes"),
    [
        ({"must_include": ["Acadia"]}, "<p>acadia</p>", True),
        ({"must_include": ["65 |OR| 3"]}, "there are 3", True),
        ({"must_include": ["65 |OR| 3"]}, "4", False),
        ({"must_include": ["0"]}, "10", True),  # never tokenised on pages
        ({"must_include": ["a", "b"]}, "a", False),
        ({"must_include": []}, "", True),
        ({"must_include": ["R&D"]}, "R&amp;D", True),
        ({"must_include": ["R&amp;D"]}, "R&amp;D", False),
        ({"exact_match": "2"}, "2", True),
        ({"exact_match": "2"}, " '2' ", True),
        ({"exact_match": "2"}, "22", False),
        ({"exact_match": "a |OR| b"}, "a", False),
        ({"exact_match": "a |OR| b"}, "a |OR| b", True),
        ({"exact_match": "2", "must_include": ["never there"]}, "2", True),
        ({"must_include": ["none"]}, "None", True),
        ({"must_include": ["x"]}, "", False),
    ],
)
def test_page_contents(required, text, passes):
    found = STRICT.evaluate(page_task(required), showing([text]))
    assert found.verdict == ("passed" if passes else "failed")


def test_all_targets_must_hold():
    task = page_task({"must_include": ["a"]}, {"must_include": ["b"]})
    assert STRICT.evaluate(task, showing(["a", "b"])).verdict == "passed"
    assert STRICT.evaluate(task, showing(["b", "a"])).verdict == "failed"
    assert STRICT.evaluate(page_task(), showing([])).verdict == "passed"


def test_uncaptured_pages_leave_no_verdict_unless_something_else_failed():
    task = page_task({"must_include": ["a"]}, {"must_include": ["b"]})
    assert STRICT.evaluate(task, showing(["a"])).error == "the page was not captured"
    assert STRICT.evaluate(task, showing(["a", None])).verdict == "error"
    assert STRICT.evaluate(task, showing(["x", None])).verdict == "failed"


@pytest.mark.parametrize(
    "task",
    [
        page_task({}),
        page_task({"contains": ["x"]}),
        page_task({"must_include": "x"}),
        page_task({"exact_match": 1}),
        page_task({"must_include": ["x"]}, locator="window.title"),
        MatchTask(evaluation={"eval_types": ["program_html"]}),
        MatchTask(evaluation={"eval_types": ["program_html"], "program_html": [{"url": "last"}]}),
        MatchTask(evaluation={"eval_types": ["string_match", "vqa"], "reference_answers": {}}),
        MatchTask(evaluation={}),
    ],
)
def test_page_specification_errors(task):
    found = STRICT.evaluate(task, MatchOutcome(answer="x", pages=("x",)))
    assert found.verdict == "error"
    assert found.error


@pytest.mark.parametrize("locator", ["", "  ", "document.title", "[...document.links]", "func:f()"])
def test_known_locators_read_what_was_captured(locator):
    task = page_task({"exact_match": "x"}, locator=locator)
    assert STRICT.evaluate(task, showing(["x"])).verdict == "passed"


def test_no_specification_is_not_applicable_and_no_types_pass():
    assert STRICT.evaluate(MatchTask(evaluation=None), MatchOutcome()).verdict == "not_applicable"
    empty = MatchTask(evaluation={"eval_types": []})
    assert STRICT.evaluate(empty, MatchOutcome()).verdict == "passed"


def test_the_score_is_the_product_of_all_evaluators():
    task = MatchTask(
        evaluation={
            "eval_types": ["string_match", "url_match"],
            "reference_answers": {"must_include": ["no"]},
            "reference_url": HOST + "/issues/1",
        }
    )
    both = MatchOutcome(answer="No", final_url=HOST + "/issues/1")
    assert STRICT.evaluate(task, both).score == 1.0
    assert STRICT.evaluate(task, MatchOutcome(answer="No", final_url=HOST)).score == 0.0
    wrong_without_url = MatchOutcome(answer="Yes")
    assert STRICT.evaluate(task, wrong_without_url).verdict == "failed"


def test_long_page_texts_are_cut_in_the_stored_details():
    found = STRICT.evaluate(page_task({"must_include": ["x"]}), showing(["y" * 100_000]))
    stored = found.checks[0].as_dict()["actual"]
    assert isinstance(stored, str)
    assert len(stored) < 2_100
    assert stored.endswith("(100000 characters)")
