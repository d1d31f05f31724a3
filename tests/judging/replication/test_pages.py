"""Pages and API of replications: for those who may read figures, and nobody else."""

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from judging.models import Replication, Study
from judging.replication.study_parts import StudyFileError
from judging.replication.work import go_on_with_replications
from runs.models import Scope
from tests.judging.analysis import papers
from tests.judging.analysis.audited import person as make_user
from tests.judging.replication import files
from tests.runs.api.asking import Caller
from tests.runs.factories import client_of

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.sqlite_only("tests what pages show"),
    pytest.mark.slow,
]
READER = ("runs.view_experiment", "judging.view_audit")
RUNNER = (*READER, "runs.rerun_run", "judging.add_study", "judging.add_evaluation")


@pytest.fixture(scope="module")
def replication(kept_rows: None) -> Replication:
    papers.before_study()
    return files.taken_up(files.NEC, "nec.toml")


def address(name: str, *arguments: object) -> str:
    return reverse(f"judging:replication_{name}", args=arguments)


def test_the_page_shows_the_paper_and_its_tables(replication: Replication) -> None:
    client = client_of(make_user("reader", *READER))
    page = client.get(address("detail", replication.pk)).content.decode()
    assert "A study" in page
    assert "not started" in page
    assert 'hx-get="' + address("part", replication.pk, "matrix") in page
    assert "Start" not in page  # a reader may not run it
    part = client.get(address("part", replication.pk, "matrix")).content.decode()
    assert part.count('class="num"') > 8
    plan = client.get(address("part", replication.pk, "plan")).content.decode()
    assert ">Part<" in plan.replace(" ", "").replace("\n", "")
    assert "typed in" in part
    share = client.get(
        address("part", replication.pk, "share"), headers={"HX-Request": "true"}
    ).content.decode()
    assert "21.3" in share
    assert "<html" not in share
    assert "nothing is judged yet" in share  # the second study is not here


def test_the_page_asks_again_until_all_parts_are_done(replication: Replication) -> None:
    """Between two parts nothing moves, and the next one begins by itself."""
    client = client_of(make_user("reader", *READER))
    rows = Replication.objects.filter(pk=replication.pk)
    for times, asks_again in (
        ({}, False),
        ({"started_at": replication.created_at}, True),
        ({"ended_at": replication.created_at}, False),
    ):
        rows.update(**times)
        page = client.get(address("detail", replication.pk)).content.decode()
        assert ('hx-trigger="every' in page) == asks_again


def test_files_are_what_the_page_shows(replication: Replication) -> None:
    client = client_of(make_user("reader", *READER))
    csv = client.get(address("table", replication.pk, "matrix", "csv"))
    assert csv.content.decode().splitlines()[2].startswith("before,fn,number,16,,,16")
    for ending in ("json", "md", "tex"):
        assert client.get(address("report", replication.pk, ending)).status_code == 200
    assert client.get(address("report", replication.pk, "csv")).status_code == 404
    assert client.get(address("table", replication.pk, "none", "csv")).status_code == 404
    assert client.get(address("part", replication.pk, "none")).status_code == 404
    assert client.get(address("file", replication.pk)).content.decode() == files.NEC


def test_only_readers_of_figures_come_in(replication: Replication, client) -> None:
    paths = (
        address("list"),
        address("detail", replication.pk),
        address("part", replication.pk, "matrix"),
        address("progress", replication.pk),
        address("table", replication.pk, "matrix", "csv"),
        address("report", replication.pk, "json"),
        address("file", replication.pk),
    )
    for n, path in enumerate(paths):
        assert client.get(path).status_code == 302
        assert client_of(make_user(f"a{n}")).get(path).status_code == 403
        assert client_of(make_user(f"b{n}", READER[1])).get(path).status_code == 403
        assert client_of(make_user(f"c{n}", *READER)).get(path).status_code == 200
    run = address("run", replication.pk)
    assert client_of(make_user("x", *RUNNER)).get(run).status_code == 405
    assert client_of(make_user("y", *READER)).post(run).status_code == 403


def test_whoever_judges_in_a_study_sees_no_figure_of_it(replication: Replication) -> None:
    user = make_user("judge", *READER)
    study = Study.objects.get(name="WebArena sample")
    study.is_open = True
    study.save()
    item = study.items.first()
    assert item is not None
    study.members.create(user=user, part="annotator")
    item.status = "open"
    item.save()
    report = client_of(user).get(address("table", replication.pk, "matrix", "json")).json()
    assert {row["ours"] for row in report["rows"]} == {None}
    assert "you judge runs of this study yourself" in str(report)
    versions = client_of(user).get(address("table", replication.pk, "versions", "json")).json()
    assert "evaluator" not in {row["what"] for row in versions["rows"]}


def test_a_study_file_is_taken_up_by_its_form() -> None:
    client = client_of(make_user("runner", *RUNNER))

    def send(content: str):
        return client.post(
            address("list"), {"file": SimpleUploadedFile("n.toml", content.encode())}
        )

    content = files.NEC.replace('name = "a study"', 'name = "another"')
    bad = send(content.replace("tp = 23", "tpp = 23"))
    assert "n.toml, tables.0: " in bad.content.decode()
    taken_up = Replication.objects.filter(created_by__username="runner")
    assert not taken_up.exists()
    good = send(content)
    assert good.headers["Location"] == address("detail", taken_up.get().pk)
    assert "another" in client.get(address("list")).content.decode()
    assert client_of(make_user("r", *READER)).post(address("list")).status_code == 403


def test_starting_what_needs_files_says_what_to_do() -> None:
    content = files.NEC.replace('study = "WebArena sample"', 'labels = ["before.csv"]')
    replication = files.taken_up(content)
    client = client_of(make_user("runner", *RUNNER))
    client.post(address("run", replication.pk))
    replication.refresh_from_db()
    assert "start it with manage.py replicate" in replication.problem
    page = client.get(address("detail", replication.pk)).content.decode()
    assert "stopped" in page


def test_the_api_gives_the_same_tables(replication: Replication) -> None:
    reader = Caller(make_user("reader", *READER), Scope.VERDICTS_READ)
    found = reader.get(f"/replications/{replication.pk}").json()
    assert found["tables"] == ["matrix", "share", "plan", "deviations", "versions"]
    assert found["file"] == files.NEC
    table = reader.get(f"/replications/{replication.pk}/tables/matrix").json()
    assert [row["ours"] for row in table["rows"]][:4] == [23, 16, 36, 0]
    assert reader.get(f"/replications/{replication.pk}/tables/none").status_code == 404
    stranger = Caller(make_user("stranger"), Scope.VERDICTS_READ)
    assert stranger.get(f"/replications/{replication.pk}").status_code == 403


def test_a_stored_file_that_cannot_be_read_says_what_is_wrong(replication: Replication) -> None:
    """As a later version of the program would have stored it."""
    other = files.taken_up(files.text(files.JUDGED, files.MATRIX, name="another"))
    later = files.NEC.replace("crosscheck-study/1", "crosscheck-study/9")
    Replication.objects.filter(pk=replication.pk).update(content=later, sha256="0" * 64)
    client = client_of(make_user("runner", *RUNNER))
    listed = client.get(address("list")).content.decode()
    assert listed.count("cannot be read") == 1
    assert "a study" in listed.partition("cannot be read")[0].rpartition("<tr>")[2]
    assert other.name in listed
    assert client.get(address("detail", other.pk)).status_code == 200
    asked = [
        client.get(address("detail", replication.pk)),
        client.get(address("progress", replication.pk)),
        client.get(address("part", replication.pk, "matrix")),
        client.get(address("table", replication.pk, "matrix", "csv")),
        client.get(address("report", replication.pk, "json")),
        client.post(address("run", replication.pk)),
    ]
    for answer in asked:
        assert answer.status_code == 422
        page = answer.content.decode()
        assert "This version of the program cannot read" in page
        assert "crosscheck-study/1" in page
        assert "nec.toml" in page
    assert client.get(address("file", replication.pk)).content.decode() == later
    reader = Caller(make_user("reader", *READER), Scope.VERDICTS_READ)
    for path in ("", "/tables/matrix"):
        said = reader.get(f"/replications/{replication.pk}{path}")
        assert said.status_code == 422
        assert said.json()["errors"][0]["field"] == "file.format"
    # The sweep leaves it, and goes on with others.
    Replication.objects.update(started_at=replication.created_at)
    go_on_with_replications()
    replication.refresh_from_db()
    assert "nec.toml, format" in replication.problem
    with pytest.raises(StudyFileError, match="cannot be read here"):
        files.taken_up(files.NEC)


def test_what_has_not_begun_is_mended_by_taking_the_file_up_anew(replication: Replication) -> None:
    Replication.objects.filter(pk=replication.pk).update(content="no study file", sha256="0" * 64)
    assert files.taken_up(files.NEC).content == files.NEC
