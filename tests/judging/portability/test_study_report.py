"""A study as pages that open from disk: complete, escaped, the same bytes each time."""

import io
import posixpath
import re
import zipfile
from html.parser import HTMLParser

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from judging.models import CauseTag, DisputeMessage, StepComment, Study
from judging.portability.study_report.pages import FOLDER, INDEX, Choices
from judging.portability.study_report.writing import write_report
from runs.models import AuditEntry
from tests.judging.analysis import audited
from tests.judging.factories import (
    adjudicators_of,
    annotators_of,
    make_dispute,
    make_evaluation,
    make_label,
    make_study,
)
from tests.runs.factories import make_run

pytestmark = [pytest.mark.sqlite_only("tests what pages show"), pytest.mark.slow]

EVIL = "<script>alert(1)</script><img src=x onerror=alert(1)>\"'&{{ 7|add:1 }}"


class Page(HTMLParser):
    """Links, pictures and styles that a page asks for, and the tags that it has."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.asked: list[str] = []
        self.tags: set[str] = set()
        self.ids: set[str] = set()
        self.inline: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        for name, value in attrs:
            if name in ("href", "src") and value:
                self.asked.append(value)
            if name == "id" and value:
                self.ids.add(value)
            if name == "style" or name.startswith("on"):
                self.inline.append(name)


@pytest.fixture
def study(db) -> Study:
    """A settled and a disputed run full of markup, judged by an evaluator that errs."""
    told = {"thought": EVIL, "action": EVIL, "error": EVIL, "url": f"https://x.test/{EVIL}"}
    runs = [make_run(goal=EVIL, steps=[told, {}]) for _ in range(2)]
    made = make_study(runs=runs, adjudicators=1, name=f"Study {EVIL}", guidelines=EVIL)
    first, second = made.items.order_by("position")
    ann, bob = annotators_of(made)
    make_label(first, ann, rationale=EVIL)
    make_label(first, bob)
    StepComment.objects.create(item=first, author=ann, step_index=0, text=f"look {EVIL}")
    for run in runs:
        make_evaluation(run, verdict="failed", rationale=EVIL, reason=EVIL)
    dispute = make_dispute(made)
    assert dispute.item == second
    [adjudicator] = adjudicators_of(made)
    DisputeMessage.objects.create(dispute=dispute, author=adjudicator, text=EVIL)
    return made


def report_of(study: Study, **choices: object) -> dict[str, bytes]:
    """The files of a report by name."""
    file = io.BytesIO()
    write_report(file, study, Choices(**choices))  # type: ignore[arg-type]
    with zipfile.ZipFile(file) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def pages_of(files: dict[str, bytes]) -> dict[str, str]:
    return {name: text.decode() for name, text in files.items() if name.endswith(".html")}


def test_every_link_leads_to_a_file_of_the_report_and_nothing_else(study):
    files = report_of(study)
    pages = {name: Page(text) for name, text in pages_of(files).items()}
    assert set(pages) == {
        "report/index.html",
        "report/evaluators/01.html",
        "report/runs/0001.html",
        "report/runs/0002.html",
    }
    for name, page in pages.items():
        for asked in page.asked:
            path, _, anchor = asked.partition("#")
            target = posixpath.normpath(posixpath.join(posixpath.dirname(name), path))
            target = target if path else name
            assert target in files, f"{name} asks for {asked}"
            if anchor:
                assert anchor in pages[target].ids, f"{name} asks for {asked}"


def test_nothing_of_a_run_is_markup_and_no_page_needs_a_script(study):
    for name, text in pages_of(report_of(study)).items():
        page = Page(text)
        assert not page.tags & {"script", "iframe", "object", "embed", "form", "base"}, name
        assert not page.inline, name
        assert "default-src 'none'" in text
        assert not any(re.match(r"[a-z]+:|//", asked) for asked in page.asked), name
    run = pages_of(report_of(study))["report/runs/0001.html"]
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in run
    assert run.count("alert(1)") >= 12, "goal, thought, action, error, labels, evaluation"


def test_the_same_study_is_the_same_bytes(study):
    assert report_of(study) == report_of(study)
    first, again = io.BytesIO(), io.BytesIO()
    write_report(first, study, Choices())
    write_report(again, study, Choices())
    assert first.getvalue() == again.getvalue()


def test_names_and_thoughts_are_left_out_on_request(study):
    names = [user.username for user in (*annotators_of(study), *adjudicators_of(study))]
    Study.objects.filter(pk=study.pk).update(name="Plain")
    study.refresh_from_db()
    said = "\n".join(pages_of(report_of(study)).values())
    assert all(name in said for name in names)
    assert 'class="words thought"' in said
    said = "\n".join(pages_of(report_of(study, names=False, thoughts=False)).values())
    # What people wrote stays as they wrote it; who wrote it is a letter.
    tags = ("h3", "li", "strong", 'th scope="row"')
    assert not any(f"<{tag}>{name}" in said for name in names for tag in tags)
    assert "person A" in said
    assert "person C" in said
    assert 'class="words thought"' not in said


def test_labels_that_are_not_open_stay_out(study):
    file = io.BytesIO()
    write_report(file, study, Choices(), labelled=study.items.none())
    with zipfile.ZipFile(file) as archive:
        page = archive.read("report/runs/0001.html").decode()
    assert "Nothing yet" in page
    assert "look &lt;script" not in page


def test_the_command_writes_once(study, tmp_path):
    out = tmp_path / "report.zip"
    call_command("export_report", str(study.pk), out=out)
    with pytest.raises(CommandError, match="cannot be written"):
        call_command("export_report", str(study.pk), out=out)
    assert zipfile.is_zipfile(out)
    assert AuditEntry.objects.get(kind="study.exported").after == "report"


def test_a_study_without_runs_has_a_report_too(db: None) -> None:
    study = make_study(runs=[make_run()])
    study.items.all().delete()
    assert set(pages_of(report_of(study))) == {"report/index.html"}


def test_every_cell_of_a_matrix_tells_its_runs(db: None) -> None:
    world, one = audited.study(), audited.evaluator("one")
    audited.judged(world, one, ["fn"] * 3 + ["tn"])
    page = report_of(world.study)[f"{FOLDER}/{INDEX}"].decode()
    told = re.findall(r'matrix-cell (\w+).*?class="figure">(\d+)<', page, re.DOTALL)
    assert told == [("tp", "0"), ("fn", "3"), ("fp", "0"), ("tn", "1")]


def test_causes_of_all_evaluators_are_drawn_on_one_scale(db: None) -> None:
    """So that one error is as long beside an evaluator with few as beside one with many."""
    world, by = audited.study(), audited.auditor("tagger")
    many, few = audited.evaluator("many"), audited.evaluator("few")
    audited.judged(world, many, ["fn"] * 4)
    audited.evaluation(world.items[0].run, few, "failed")
    CauseTag.objects.bulk_create(
        CauseTag(
            item=item, evaluator=each, evaluator_name=each.name, error="fn",
            causes=["too_strict"], repair="task_data", by=by,
        )
        for each, erred in ((many, 4), (few, 1))
        for item in world.items[:erred]
    )  # fmt: skip
    page = report_of(world.study)[f"{FOLDER}/{INDEX}"].decode().partition('id="causes"')[2]
    bars = re.findall(r'class="bar fn".*? d="M ([\d.]+) [\d.]+ *\n?L ([\d.]+)', page, re.DOTALL)
    lengths = sorted(float(right) - float(left) for left, right in bars)
    assert lengths[1] == pytest.approx(4 * lengths[0])
