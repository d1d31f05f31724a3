"""Where the errors of evaluators belong, and which other evaluator corrects most of them."""

import re

import pytest

from judging.analysis.audits.facts import AuditFacts
from judging.analysis.audits.repairs import repairs
from judging.models import Cause, CauseTag, Evaluation
from tests.judging.analysis import audited
from tests.judging.analysis.audits.pages import open_page
from tests.runs.factories import client_of
from webagent.llm.registry import PREFIX

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.sqlite_only("tests what pages show"),
    pytest.mark.slow,
]


@pytest.fixture
def world(db: None) -> audited.Audited:
    """`strict` errs on four of six runs; `loose` corrects three of these and breaks one more."""
    made = audited.study()
    audited.judged(made, audited.evaluator("strict"), ["fn", "fn", "fn", "fp", "tp", "tn"])
    said = {"loose": "ppppff", "half": "pppf", "mute": "p"}
    for name, verdicts in said.items():
        for item, verdict in zip(made.items, verdicts, strict=False):
            word = "passed" if verdict == "p" else "failed"
            audited.evaluation(item.run, audited.evaluator(name), word)
    first, second, third, fourth, *_ = made.items
    by = audited.auditor("tagger")
    strict = audited.evaluator("strict")
    for item, error, repair in (
        (first, "fn", "task_data"),
        (second, "fn", "evaluation_logic"),
        (fourth, "fp", "task_data"),
    ):
        CauseTag.objects.create(
            item=item, evaluator=strict, evaluator_name="strict", error=error,
            causes=[Cause.values[0]], repair=repair, by=by,
        )  # fmt: skip
    assert third.status == "settled"
    return made


def test_who_corrects_most_is_named_with_what_it_breaks(world: audited.Audited) -> None:
    report = repairs(AuditFacts(world.study))
    rows = {row[0]: row[1:] for row in report.values}
    # errors, task data, evaluation logic, neither, untagged, corrected by, corrects, breaks
    assert rows["strict"] == ["1", 4, 2, 1, 0, 1, "loose 1", 3, 1]
    # `half` is right on the first four but speaks of too few runs to be ranked; nobody is better
    # than `loose` by more than it breaks.
    assert rows["loose"][1:] == [2, 0, 0, 0, 2, "—", None, None]
    assert "mute" not in rows, "it does not err"


def test_the_first_page_leads_to_it_and_its_figures_to_the_runs(world: audited.Audited) -> None:
    client = client_of(audited.auditor())
    assert "/audit/repairs/" in open_page(client, "audit", world.study.pk).content.decode()
    page = open_page(client, "audit_repairs", world.study.pk).content.decode()
    strict, loose = audited.evaluator("strict"), audited.evaluator("loose")
    assert f"/studies/{world.study.pk}/audit/{strict.pk}/cells/fn-fp/?tag=repair.task_data" in page
    assert f"compare/?first={strict.pk}&amp;second={loose.pk}" in page


def test_the_first_screen_says_what_repairing_brings(world: audited.Audited) -> None:
    page = open_page(client_of(audited.auditor()), "audit_repairs", world.study.pk)
    words = " ".join(re.sub(r"<[^>]+>", " ", page.content.decode().replace("</a>", "")).split())
    assert "strict misses 3 of 4 successes" in words
    assert "2 task data, 1 evaluation logic, 1 untagged" in words
    assert "loose corrects 3 and breaks 1: misses 1 of 4 successes" in words
    assert "FN share before and after the repair" in words
    assert "→ loose" in words, "the picture has whoever corrects below whom it corrects"


def test_a_stub_is_drawn_as_the_repair_only_where_nothing_else_repairs(
    world: audited.Audited,
) -> None:
    stub = audited.evaluator("stubbed", config={"model": f"{PREFIX}rules-1"})
    for item, verdict in zip(
        world.items, ["passed"] * 3 + ["failed", "passed", "failed"], strict=True
    ):
        audited.evaluation(item.run, stub, verdict)
    client = client_of(audited.auditor())
    page = open_page(client, "audit_repairs", world.study.pk).content.decode()
    words = " ".join(re.sub(r"<[^>]+>", " ", page.replace("</a>", "")).split())
    assert "loose corrects 3 and breaks 1: misses 1 of 4 successes" in words
    assert f"stubbed {PREFIX}rules-1 answered by a stub corrects 4 and breaks 0." in words
    strict, loose = audited.evaluator("strict"), audited.evaluator("loose")
    picture = page[page.index("<figure") :]
    assert "→ loose" in picture
    assert f"first={strict.pk}&amp;second={loose.pk}" in picture
    assert "→ stubbed" not in picture.split("→ loose")[0]
    loose.evaluations.all().delete()
    page = open_page(client, "audit_repairs", world.study.pk).content.decode()
    assert "→ stubbed (stub)" in page


def test_a_repair_of_the_same_name_says_what_is_switched_otherwise() -> None:
    made = audited.study()
    first, tagger = audited.evaluator("matcher"), audited.person("tagger")
    audited.judged(made, first, ["fn", "tp"])
    repair = audited.evaluator("matcher", config={"off": ["units"]})
    for item in made.items:
        audited.evaluation(item.run, repair, "passed")
    CauseTag.objects.create(
        item=made.items[0], evaluator=first, evaluator_name="matcher", error="fn",
        causes=[Cause.values[0]], repair="task_data", by=tagger,
    )  # fmt: skip
    page = open_page(client_of(audited.auditor()), "audit_repairs", made.study.pk).content.decode()
    assert re.search(r">matcher</a> <span[^>]*>−units</span>\s+corrects 1", page)


def test_three_next_steps_lead_to_the_errors_of_the_worst(world: audited.Audited) -> None:
    strict = audited.evaluator("strict")
    checks = [{"name": "must_include", "verdict": "failed"}]
    Evaluation.objects.filter(evaluator=strict, verdict="failed").update(details={"checks": checks})
    client = client_of(audited.auditor())
    page = open_page(client, "audit_repairs", world.study.pk).content.decode()
    steps = page[page.index('id="next-steps"') :]
    cells = f"/studies/{world.study.pk}/audit/{strict.pk}/cells/"
    assert f'href="{cells}fn/">Open the 3 missed runs' in steps
    assert f'href="{cells}fn-fp/?rule=must_include">' in steps
    assert "must_include (3 of 4)" in steps
    assert f'href="{cells}fn/#rerun">Rerun all 3' in steps
    listed = client.get(f"{cells}fn-fp/?rule=must_include").content.decode()
    assert listed.count("data-run=") == 3, "the FP was decided by nothing that is stored"
    assert client.get(f"{cells}fn-fp/?rule=").content.decode().count("data-run=") == 1


def test_where_nobody_errs_it_says_so() -> None:
    made = audited.study()
    audited.judged(made, audited.evaluator("right"), ["tp", "tn"])
    page = open_page(client_of(audited.auditor()), "audit_repairs", made.study.pk)
    assert "No evaluator errs here" in page.content.decode()


def test_it_is_of_all_splits_alone(world: audited.Audited) -> None:
    client = client_of(audited.auditor())
    address = f"/studies/{world.study.pk}/audit/"
    assert client.get(f"{address}repairs/?split=dev").status_code == 404
    assert "/audit/repairs/" not in client.get(f"{address}?split=dev").content.decode()
