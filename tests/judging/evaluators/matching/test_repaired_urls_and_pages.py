"""Every rule about URLs and pages: what it changes, and a near miss that it must not change."""

import pytest

from judging.evaluators.matching.outcome import Verdict
from judging.evaluators.matching.repaired.matcher import RepairedMatcher
from judging.evaluators.matching.repaired.pages import site_aliases
from judging.evaluators.matching.repaired.rules import ALL_RULES, REJECTING, Rule
from judging.evaluators.matching.strict import StrictMatcher
from tests.judging.evaluators.matching.factories import ended_at, page_task, showing, url_task

REPAIRED = RepairedMatcher()
STRICT = StrictMatcher()
LAB = "http://localhost:8023"
FORUM = "http://localhost:9999"
SHOP = "http://localhost:7770"

# rule, reference, a page that passes only by the rule, one that must go on failing
RIGHT_PAGES = [
    (Rule.URL_HOSTS, f"{LAB}/a", "http://127.0.0.1:8023/a", "http://127.0.0.2:8023/a"),
    (Rule.URL_HOSTS, "http://www.reddit.com/f/nyc", f"{FORUM}/f/nyc", f"{LAB}/f/nyc"),
    (
        Rule.URL_HOSTS,
        "http://luma.com/admin/sales",
        "http://localhost:7780/admin/sales",
        "http://localhost:7780/sales",
    ),
    (Rule.URL_HOSTS, f"{FORUM}/f/nyc", "http://[::1]:9999/f/nyc", "http://reddit.com/f/nyc"),
    (Rule.URL_HOST_CASE, f"{LAB}/a", "http://LocalHost:8023/a", "http://LocalHost:8023/b"),
    (Rule.URL_DEFAULT_PORT, "http://h/a", "http://h:80/a", "http://h:8080/a"),
    (Rule.URL_DEFAULT_PORT, "https://h/a", "https://h:443/a", "https://h:80/a"),
    (Rule.URL_PERCENT_ENCODING, f"{LAB}/a-b", f"{LAB}/a%2Db", f"{LAB}/a%2Fb"),
    (Rule.URL_PERCENT_ENCODING, f"{LAB}/a%2Fb", f"{LAB}/a%2fb", f"{LAB}/a/b"),
    (Rule.URL_DOUBLE_SLASHES, f"{SHOP}//customer", f"{SHOP}/customer", f"{SHOP}/cust"),
    (Rule.URL_SLASH_BEFORE_QUERY, f"{LAB}/i/?s=x", f"{LAB}/i?s=x", f"{LAB}/i?s=y"),
    (Rule.URL_ALTERNATIVE_QUERIES, f"{LAB}/a?x=1 |OR| {LAB}/b?y=2", f"{LAB}/a?x=1", f"{LAB}/a?y=2"),
    (Rule.URL_QUERY_BLANKS, f"{SHOP}/s?q=a%20", f"{SHOP}/s?q=a", f"{SHOP}/s?q=ab"),
    (
        Rule.URL_DEFAULT_PARAMETERS,
        f"{SHOP}/s?q=1&product_list_dir=asc",
        f"{SHOP}/s?q=1",
        f"{SHOP}/s?q=1&product_list_dir=desc",
    ),
    (
        Rule.URL_FORUM_CASE,
        f"{FORUM}/f/machinelearning",
        f"{FORUM}/f/MachineLearning/1/x",
        f"{FORUM}/F/machinelearning",
    ),
]

# rule, reference, a page that only the rule rejects, one that must go on passing
WRONG_PAGES = [
    (Rule.URL_SEGMENTS, f"{FORUM}/f/nyc", f"{FORUM}/f/nycxyz", f"{FORUM}/f/nyc/123/title"),
    (Rule.URL_SEGMENTS, f"{LAB}/issues/8", f"{LAB}/issues/80", f"{LAB}/issues/8#note"),
    (Rule.URL_SEGMENTS, f"{LAB}/a", f"http://evil.example/{LAB}/a", "https://localhost:8023/a"),
    (Rule.URL_SEGMENTS, f"{LAB}/a", "http://x.localhost:8023/a", "http://u:p@localhost:8023/a"),
    (Rule.URL_SEGMENTS, f"{LAB}/viewed/", f"{LAB}/viewedasdf", f"{LAB}/viewed/x"),
    (Rule.URL_ALTERNATIVE_QUERIES, f"{LAB}/a?x=1 |OR| {LAB}/b?x=2", f"{LAB}/a?x=2", f"{LAB}/b?x=2"),
]


def judged(matcher: RepairedMatcher | StrictMatcher, reference: str, page: str):
    return matcher.evaluate(url_task(reference), ended_at(page))


@pytest.mark.parametrize(("rule", "reference", "right", "wrong"), RIGHT_PAGES)
def test_accepting_rules(rule, reference, right, wrong):
    found = judged(REPAIRED, reference, right)
    assert judged(STRICT, reference, right).verdict == Verdict.FAILED
    assert found.verdict == Verdict.PASSED
    assert found.rules == (rule.value,)
    without = RepairedMatcher(rules=ALL_RULES - {rule})
    assert judged(without, reference, right).verdict == Verdict.FAILED
    assert judged(REPAIRED, reference, wrong).verdict == Verdict.FAILED


@pytest.mark.parametrize(("rule", "reference", "wrong", "right"), WRONG_PAGES)
def test_rejecting_rules(rule, reference, wrong, right):
    found = judged(REPAIRED, reference, wrong)
    assert judged(STRICT, reference, wrong).verdict == Verdict.PASSED
    assert found.verdict == Verdict.FAILED
    assert found.rules == (rule.value,)
    without = RepairedMatcher(rules=ALL_RULES - {rule})
    assert judged(without, reference, wrong).verdict == Verdict.PASSED
    assert judged(STRICT, reference, right).verdict == Verdict.PASSED
    assert judged(REPAIRED, reference, right).verdict == Verdict.PASSED


def test_every_rule_about_urls_is_in_a_table():
    tabled = {row[0] for row in RIGHT_PAGES} | {row[0] for row in WRONG_PAGES}
    assert tabled == {rule for rule in Rule if rule.value.startswith("url_")}
    assert REJECTING & tabled == {Rule.URL_SEGMENTS}


@pytest.mark.parametrize("reference", ["", "/"])
def test_an_empty_reference_goes_on_matching_any_page(reference):
    assert judged(REPAIRED, reference, f"{LAB}/x").verdict == Verdict.PASSED


def test_a_deployments_own_hosts():
    aliases = site_aliases({"reddit": "http://forum.lab", "gitlab": "http://git.lab:81/"})
    for reference in (
        "http://forum.lab/f/nyc",
        "http://www.reddit.com/f/nyc",
        "http://metis.lti.cs.cmu.edu:9999/f/nyc",
    ):
        task = url_task(reference, aliases)
        assert REPAIRED.evaluate(task, ended_at("http://forum.lab/f/nyc")).verdict == "passed"
        assert REPAIRED.evaluate(task, ended_at("http://git.lab:81/f/nyc")).verdict == "failed"


def test_the_real_site_is_no_deployment():
    task = url_task(f"{FORUM}/f/nyc")
    assert REPAIRED.evaluate(task, ended_at("http://www.reddit.com/f/nyc")).verdict == "failed"


def test_a_broken_url_is_an_error():
    assert judged(REPAIRED, f"{LAB}/a", "http://[x/").verdict == Verdict.ERROR


# required contents, captured text, verdict as published, verdict repaired, rules
PAGES = [
    ({"must_include": ["100"]}, "for 1000 dollars", "passed", "failed", ("number_boundaries",)),
    ({"must_include": ["100"]}, "for 100 dollars", "passed", "passed", ()),
    ({"must_include": ["80"]}, "10.80", "passed", "failed", ("number_boundaries",)),
    ({"must_include": ["cheat"]}, "he was cheating", "passed", "passed", ()),
    ({"must_include": ["don't panic"]}, "Don’t panic", "failed", "passed", ("unicode",)),
    ({"must_include": ["don't panic"]}, "do panic", "failed", "failed", ()),
    ({"must_include": ["MIT license"]}, "MIT\n   license", "failed", "passed", ("white_space",)),
    ({"must_include": ["MIT license"]}, "MITlicense", "failed", "failed", ()),
    ({"exact_match": "47.00"}, "47", "failed", "passed", ("number_format",)),
    ({"exact_match": "47.00"}, "47.10", "failed", "failed", ()),
    ({"exact_match": "007"}, "7", "failed", "failed", ()),
    ({"exact_match": "$47"}, "47.00", "failed", "passed", ("number_format",)),
    ({"exact_match": "$47"}, "€47", "failed", "failed", ()),
    ({"exact_match": "47"}, "47%", "failed", "failed", ()),
    ({"exact_match": "-5"}, "5", "failed", "failed", ()),
    ({"exact_match": "5/31/23"}, "05/31/2023", "failed", "passed", ("dates",)),
    ({"exact_match": "5/31/23"}, "05/30/2023", "failed", "failed", ()),
    ({"exact_match": "Busy"}, "Busy\u200b", "failed", "passed", ("unicode",)),
    ({"exact_match": "lgtm"}, "lgtm!", "failed", "failed", ()),
    (
        {"must_include": [f"{FORUM}/f/nyc/1"]},
        "see http://www.reddit.com/f/nyc/1",
        "failed",
        "passed",
        ("url_hosts",),
    ),
    (
        {"must_include": [f"{FORUM}/f/nyc/1"]},
        "see http://evil.example/f/nyc/1",
        "failed",
        "failed",
        (),
    ),
    ({"must_include": ["a |OR| b"]}, "b", "passed", "passed", ()),
]


@pytest.mark.parametrize(("required", "text", "published", "repaired", "rules"), PAGES)
def test_page_contents(required, text, published, repaired, rules):
    task = page_task(required)
    assert STRICT.evaluate(task, showing([text])).verdict == published
    found = REPAIRED.evaluate(task, showing([text]))
    assert (found.verdict, found.rules) == (repaired, rules)


def test_uncaptured_pages_leave_no_verdict_here_either():
    task = page_task({"must_include": ["a"]})
    assert REPAIRED.evaluate(task, showing([None])).verdict == Verdict.ERROR
    assert REPAIRED.evaluate(task, showing([])).error == "the page was not captured"
