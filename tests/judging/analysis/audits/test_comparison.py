"""Two evaluators compared, against counts made by hand."""

import itertools
import json
import re

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from judging.analysis.audits.comparing.evaluator_reports import comparison_report
from judging.analysis.audits.comparing.evaluators import Comparison, additions_of, compare_all
from judging.analysis.audits.facts import AuditFacts
from judging.analysis.audits.population import Shown
from judging.analysis.audits.reports import AUDIT
from judging.analysis.audits.verdict_sources import sources_of
from judging.models import EvaluatorVersion
from judging.statistics.comparison import holm, mcnemar
from judging.statistics.confusion import ConfusionMatrix
from judging.templatetags.audit import p_in_words
from tests.judging.analysis import audited, papers
from tests.judging.analysis.audits.pages import open_page, pk
from tests.runs.factories import client_of
from webagent.llm.registry import PREFIX

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.sqlite_only("tests what pages show"),
    pytest.mark.slow,
]
TP, FN, TN, FP, NONE = Shown.TP, Shown.FN, Shown.TN, Shown.FP, Shown.NONE


@pytest.fixture(scope="module")
def made_before(kept_rows: None) -> audited.Audited:
    """The study before the repair, which is evaluated for real."""
    return papers.before_study()


@pytest.fixture
def before(made_before: audited.Audited, db: None) -> audited.Audited:
    """Made once; what a test changes is undone after it."""
    return made_before


def test_flips_by_hand(world: audited.Audited) -> None:
    sources = sources_of(world.study)
    strict, judge = (sources.named(str(pk(name))) for name in ("strict", "judge"))
    found = Comparison(world.study, strict, judge)
    assert found.flips.on_success == {(FN, TP): 2, (TP, TP): 1}
    assert found.flips.on_failure == {(TN, FP): 1, (TN, TN): 1, (NONE, NONE): 1}
    assert (found.flips.fixed_fn, found.flips.new_fn) == (2, 0)
    assert (found.flips.fixed_fp, found.flips.new_fp) == (0, 1)
    assert (found.flips.runs, found.flips.shared) == (6, 5)
    rows = {tuple(row[:2]): row for row in AUDIT.make("pairs", AuditFacts(world.study)).values}
    assert rows["strict 1", "judge 1"][2] == 5, "the runs of the test"
    # The judge alone is right twice, strict alone once: 2 · P(X ≤ 1), X ~ Binomial(3, ½)
    assert found.flips.test == mcnemar(1, 2)
    assert found.flips.test.p_value == 1.0
    assert found.matrices[0] == ConfusionMatrix(tp=1, fn=2, tn=2, fp=0, no_verdict_on_failure=1)


def test_backwards_everything_turns_round(world: audited.Audited) -> None:
    sources = sources_of(world.study)
    strict, judge = (sources.named(str(pk(name))) for name in ("strict", "judge"))
    there = Comparison(world.study, strict, judge).flips
    back = Comparison(world.study, judge, strict).flips
    assert (back.fixed_fn, back.new_fn) == (there.new_fn, there.fixed_fn)
    assert (back.fixed_fp, back.new_fp) == (there.new_fp, there.fixed_fp)
    assert back.test.p_value == there.test.p_value


def test_groups_by_hand(world: audited.Audited) -> None:
    sources = sources_of(world.study)
    strict, judge = (sources.named(str(pk(name))) for name in ("strict", "judge"))
    groups = Comparison(world.study, strict, judge).groups
    assert {
        kind: [
            (group.name, group.flips.runs, group.flips.fixed_fn, group.flips.new_fp)
            for group in found
        ]
        for kind, found in groups.items()
    } == {
        "site": [("shop", 4, 2, 1), ("map", 2, 0, 0)],
        "template": [("1", 3, 1, 1), ("0", 3, 1, 0)],
        "kind": [("url_match", 3, 1, 1), ("string_match", 3, 1, 0)],
    }
    assert all(group.is_small for found in groups.values() for group in found)


def test_groups_that_are_not_tested_do_not_count_for_holm() -> None:
    made = audited.study("Groups")
    first, second = audited.evaluator("first"), audited.evaluator("second")
    for site, n in (("shop", 12), ("map", 10), ("forum", 9)):
        for number in range(n):
            item = made.add("success", of=audited.run(audited.task(f"{site}{number}", site=site)))
            audited.evaluation(item.run, first, "failed")
            audited.evaluation(item.run, second, "passed")
    sources = sources_of(made.study)
    compared = Comparison(made.study, *(sources.named(str(each.pk)) for each in (first, second)))
    groups = {group.name: group for group in compared.groups["site"]}
    raw = {name: group.flips.test.p_value for name, group in groups.items()}
    # Two of the three are tested: the smaller p is doubled, the larger one stands.
    assert groups["shop"].adjusted == pytest.approx(2 * raw["shop"])
    assert groups["map"].adjusted == pytest.approx(raw["map"])
    assert groups["forum"].adjusted is None
    rows = {row[1]: row for row in comparison_report(made.study, compared).values}
    assert rows["shop"][7:9] == [raw["shop"], groups["shop"].adjusted]
    assert rows["forum"][7:9] == [None, None]


def test_all_pairs_with_holm(before: audited.Audited) -> None:
    pairs = compare_all(sources_of(before.study))
    assert len(pairs) == 5 * 4 / 2
    by_names = {(pair.first.name, pair.second.name): pair for pair in pairs}
    repaired = by_names["before 1", "after 1"]
    assert (repaired.flips.fixed_fn, repaired.flips.new_fn) == (15, 0)
    assert repaired.flips.test.p_value == pytest.approx(2 * 0.5**15)
    same = by_names["webarena-strict 1", "before 1"]
    assert (same.flips.test.p_value, same.flips.test.tested_p) == (1.0, None)
    assert p_in_words(same.flips.test) == "no pairs differ"
    assert p_in_words(repaired.flips.test).startswith("p ")
    assert [pair.adjusted for pair in pairs] == holm([pair.flips.test.p_value for pair in pairs])
    assert repaired.adjusted > repaired.flips.test.p_value


def test_every_pair_of_the_one_query_is_the_pair_alone(world: audited.Audited) -> None:
    for name, cells in (("third", ["tp"]), ("fourth", ["fp", "fn"])):
        audited.judged(world, audited.evaluator(name), cells)
    sources = sources_of(world.study)
    pairs = compare_all(sources)
    assert len(pairs) == len(list(itertools.combinations(sources.evaluators, 2)))
    for pair in pairs:
        alone = Comparison(world.study, pair.first, pair.second).flips
        assert vars(alone) == vars(pair.flips)


def test_what_the_second_stage_adds(world: audited.Audited) -> None:
    sources = sources_of(world.study)
    found = additions_of(sources, sources.named(str(pk("judge"))))
    assert found is not None
    first, second = found.steps
    assert first.alone == ConfusionMatrix(tp=2, fn=1, tn=2, fp=0, no_verdict_on_failure=1)
    assert second.alone == ConfusionMatrix(
        tp=1, fn=0, tn=1, fp=1, no_verdict_on_success=2, no_verdict_on_failure=1
    )
    assert (second.new_tp, second.new_fp) == (1, 1)
    assert found.together == ConfusionMatrix(tp=3, fn=0, tn=1, fp=1, no_verdict_on_failure=1)
    # The OR of the stages is the first stage and what the second adds to it.
    assert found.together.tp == first.alone.tp + second.new_tp
    assert found.together.fp == first.alone.fp + second.new_fp
    assert additions_of(sources, sources.named(str(pk("strict")))) is None


def test_steps_of_a_pipeline_add_up_to_it(before: audited.Audited) -> None:
    sources = sources_of(before.study)
    found = additions_of(sources, sources.named(str(pk("after"))))
    assert found is not None
    assert [step.step.step for step in found.steps] == ["matcher", "equivalence", "inclusion"]
    assert [(step.new_tp, step.new_fp) for step in found.steps] == [(35, 0), (1, 0), (2, 0)]
    assert found.together.tp == 38


def get(client: Client, world: audited.Audited, query: str = "") -> str:
    address = reverse("judging:audit_compare", args=[world.study.pk])
    return str(client.get(f"{address}?{query}").content.decode())


def test_every_number_of_the_page_opens_as_many_runs(world: audited.Audited) -> None:
    client = client_of(audited.auditor())
    page = get(client, world, f"first={pk('strict')}&second={pk('judge')}")
    linked = re.findall(r'<a (?:class="n [a-z]*" )?href="(/[^"]+)">(\d+)</a>', page)
    assert len(linked) > 12
    assert len(set(linked)) == len(dict(linked))  # no address is said to hold other numbers
    for address, n in set(linked):
        answer = client.get(address.replace("&amp;", "&"))
        assert answer.status_code == 200, address
        assert answer.content.decode().count("<tr data-run=") == int(n), address
    marks = re.findall(r'<a href="(/studies/[^"]+triangle[^"]+)">\s*<title>([^<]+)</title>', page)
    assert {title for _address, title in marks} == {
        "all runs: 2 FN repaired",
        "all runs: 1 new FP",
        "shop: 2 FN repaired",
        "shop: 1 new FP",
    }


def test_page_says_what_the_test_says_and_what_it_cannot(world: audited.Audited) -> None:
    page = get(client_of(audited.auditor()), world, f"first={pk('strict')}&second={pk('judge')}")
    words = " ".join(re.sub(r"<[^>]+>", " ", page).split())
    assert "p = 1.000" in words
    assert "only judge right on 2, only strict right on 1" in words
    assert "too few runs to tell" in words
    assert "stage 2 alone" in words
    assert not re.search(r"<style|\sstyle=|\son\w+=|<script(?![^>]*\ssrc=)", page)


def test_what_steps_add_names_the_version_of_the_tasks(before: audited.Audited) -> None:
    pipeline = {"tasks": "patched", "matcher": {"name": "webarena-repaired"}}
    EvaluatorVersion.objects.filter(name="after").update(config=pipeline)
    query = f"first={pk('before')}&second={pk('after')}"
    page = get(client_of(audited.auditor()), before, query)
    words = " ".join(page[page.index("What steps add") :].split())
    assert "strict + judge: as recorded · repaired + judge: as patched" in words


def test_nothing_flips_is_said_in_words() -> None:
    world = audited.study()
    audited.judged(world, audited.evaluator("one"), ["tp", "tn"])
    for item, verdict in zip(world.items, ("passed", "failed"), strict=True):
        audited.evaluation(item.run, audited.evaluator("two"), verdict)
    page = get(client_of(audited.auditor()), world)
    assert "no pairs differ" in page


def test_one_evaluator_alone_says_what_is_missing() -> None:
    world = audited.study()
    audited.judged(world, audited.evaluator("one"), ["tp", "tn"])
    page = get(client_of(audited.auditor()), world)
    assert "No two evaluators to compare" in page


def test_the_one_that_errs_most_opens_against_its_best_repair(before: audited.Audited) -> None:
    page = get(client_of(audited.auditor()), before)
    assert "webarena-repaired compared with webarena-strict" in page
    assert "15/39" not in page
    assert "16/75" in page


def test_a_stub_opens_as_a_repair_only_where_nothing_else_repairs() -> None:
    world = audited.study()
    mild, worst = audited.evaluator("a-mild"), audited.evaluator("z-worst")
    audited.judged(world, worst, ["fn", "fn", "fn", "tn"])
    stub = audited.evaluator("stub", config={"model": f"{PREFIX}rules-1"})
    said = {mild: "ffpf", stub: "pppf"}
    for by, verdicts in said.items():
        for item, verdict in zip(world.items, verdicts, strict=True):
            audited.evaluation(item.run, by, {"p": "passed", "f": "failed"}[verdict])
    client = client_of(audited.auditor())
    assert "a-mild compared with z-worst" in get(client, world)
    mild.evaluations.all().delete()
    assert "stub compared with z-worst" in get(client, world)


@pytest.mark.parametrize("query", ["first=1", "first=1&second=1", "first=x&second=2", "first=u1"])
def test_an_impossible_pair_is_not_found(world: audited.Audited, query: str) -> None:
    client = client_of(audited.auditor())
    address = reverse("judging:audit_compare", args=[world.study.pk])
    answer = client.get(f"{address}?{query}")
    assert answer.status_code == 404
    assert "Choose two different evaluators." in answer.content.decode()


def test_queries_do_not_grow_with_the_runs(world: audited.Audited) -> None:
    client = client_of(audited.auditor())
    counted = []
    for _ in range(2):
        with CaptureQueriesContext(connection) as queries:
            open_page(client, "audit_compare", world.study.pk)
        counted.append(len(queries))
        audited.judged(world, audited.evaluator("strict"), ["tp", "fn", "fp"] * 4)
    assert counted[0] == counted[1] < 24


def test_file_has_all_groups(world: audited.Audited) -> None:
    client = client_of(audited.auditor())
    address = reverse("judging:audit_compare_file", args=[world.study.pk, "json"])
    query = f"first={pk('strict')}&second={pk('judge')}"
    rows = json.loads(client.get(f"{address}?{query}").content)["rows"]
    assert [(row["by"], row["group"], row["fixed_fn"]) for row in rows] == [
        ("all", None, 2),
        ("site", "shop", 2),
        ("site", "map", 0),
        ("template", "1", 1),
        ("template", "0", 1),
        ("kind", "url_match", 1),
        ("kind", "string_match", 1),
    ]
    assert (rows[0]["first_fn"], rows[0]["second_fn"]) == (2, 0)
