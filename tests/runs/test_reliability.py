"""What campaigns of faults found: read within bounds, kept, shown with broken promises first."""

from __future__ import annotations

import csv
import io
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from runs.models import FaultCheck
from runs.operations.faults.fault_reports import (
    MAX_BYTES,
    FaultRecord,
    FaultReport,
    UnreadableReportError,
    read_report,
)
from runs.operations.faults.services import load_fault_report
from tests.runs.factories import make_user

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
HTML, JSON, CSV = (f"/operations/reliability{ending}" for ending in ("/", ".json", ".csv"))


def a_record(**fields: Any) -> FaultRecord:
    values: dict[str, Any] = {
        "failure": 1,
        "test": "children killed",
        "injected": "kill -9 of processes",
        "database": "sqlite",
        "broker": "files",
        "times": 20,
        "acknowledged": 90,
        "kept": 90,
        "recovery_p50_s": 6.04,
        "recovery_p95_s": 7.26,
        "held": True,
        "at": NOON,
        "version": "abc1234",
    }
    return FaultRecord.model_validate(values | fields)


def a_report(*records: FaultRecord) -> FaultReport:
    return FaultReport(made_at=NOON, version="abc1234", records=records or (a_record(),))


BROKEN = a_record(
    failure=12, test="judges", injected="<b>two</b> at once", held=False, problems=("=1+1 lost",)
)


@pytest.mark.parametrize(
    ("planted", "where"),
    [
        ({"failure": 99}, "failure"),
        ({"times": -1}, "times"),
        ({"times": 10**40}, "times"),
        ({"recovery_p95_s": float("nan")}, "recovery_p95_s"),
        ({"database": "oracle"}, "database"),
        ({"at": "2026-11-21T12:00:00"}, "at"),
        ({"injected": "x" * 501}, "injected"),
        ({"problems": ["x"] * 51}, "problems"),
        ({"more": {f"n{n}": 1 for n in range(21)}}, "more"),
        ({"__class__": "os.system"}, "__class__"),
    ],
)
def test_a_record_that_is_not_as_it_must_be_is_refused(planted: dict[str, Any], where: str) -> None:
    content = a_report().model_dump(mode="json")
    content["records"][0] |= planted
    with pytest.raises(UnreadableReportError, match=f"records.0.{where}"):
        read_report(json.dumps(content).encode())


@pytest.mark.parametrize(
    "content", [b"", b"[]", b"null", b"\xff\xfe", b"{" * 10_000, b"[" * 10_000]
)
def test_what_is_no_report_is_refused(content: bytes) -> None:
    with pytest.raises(UnreadableReportError):
        read_report(content)


def test_a_report_without_bounds_is_refused() -> None:
    with pytest.raises(UnreadableReportError, match="larger than"):
        read_report(b" " * (MAX_BYTES + 1))


def test_what_is_written_is_read_again() -> None:
    report = a_report(a_record(), BROKEN)
    assert read_report(report.model_dump_json().encode()) == report


@pytest.mark.django_db
class TestLoading:
    def test_newer_findings_replace_older_ones_and_not_the_other_way(self) -> None:
        load_fault_report(report=a_report(a_record(), a_record(database="postgresql")))
        later = a_record(at=NOON + timedelta(hours=1), times=400)
        earlier = a_record(at=NOON - timedelta(hours=1), times=1)
        assert load_fault_report(report=a_report(later)).n_new == 1
        assert load_fault_report(report=a_report(earlier)).n_older == 1
        times = {row.database: row.record["times"] for row in FaultCheck.objects.all()}
        assert times == {"sqlite": 400, "postgresql": 20}

    def test_of_two_findings_in_one_report_the_newer_stays(self) -> None:
        later = a_record(at=NOON + timedelta(hours=1), times=400)
        load_fault_report(report=a_report(later, a_record()))
        assert FaultCheck.objects.get().record["times"] == 400

    def test_the_command_says_what_it_did(self, tmp_path: Path) -> None:
        file, said = tmp_path / "report.json", io.StringIO()
        file.write_text(a_report(a_record(), BROKEN).model_dump_json())
        call_command("load_fault_report", file, stdout=said)
        assert said.getvalue().strip() == (
            "2 findings loaded, 0 older than known; 1 promises broken."
        )

    def test_the_command_refuses_in_one_line(self, tmp_path: Path) -> None:
        with pytest.raises(CommandError, match="No such file"):
            call_command("load_fault_report", tmp_path / "none.json")
        (tmp_path / "no.json").write_text("{}")
        with pytest.raises(CommandError, match=r"is no report of faults: made_at: Field required"):
            call_command("load_fault_report", tmp_path / "no.json")
        assert not FaultCheck.objects.exists()


@pytest.mark.django_db
class TestPage:
    @pytest.fixture(autouse=True)
    def engineer(self, client: Client) -> None:
        client.force_login(make_user())

    def test_without_a_report_it_says_how_to_make_one(self, client: Client) -> None:
        page = client.get(HTML).content.decode()
        assert "python -m tests.faults" in page
        assert client.get(JSON).status_code == client.get(CSV).status_code == 404

    def test_broken_promises_come_first_and_untried_failures_last(self, client: Client) -> None:
        load_fault_report(report=a_report(a_record(), BROKEN))
        page = client.get(HTML).content.decode()
        places = [
            page.index(words) for words in ("12. Two adj", "1. A worker, or any", "Not tried")
        ]
        assert places == sorted(places)
        assert "<b>two</b>" not in page
        assert "=1+1 lost" in page
        assert "7.3 s" in page
        assert "90 / 90" in page

    def test_it_is_one_query_for_the_findings(
        self, client: Client, django_assert_max_num_queries: Any
    ) -> None:
        load_fault_report(report=a_report(*[a_record(test=f"test {n}") for n in range(30)]))
        client.get(HTML)
        with django_assert_max_num_queries(6):
            client.get(HTML)

    def test_files_hold_the_same_and_no_formulas(self, client: Client) -> None:
        report = a_report(BROKEN, a_record())
        load_fault_report(report=report)
        again = read_report(client.get(JSON).content)
        assert again.records == report.records
        rows = list(csv.DictReader(io.StringIO(client.get(CSV).content.decode())))
        assert [row["test"] for row in rows] == ["judges", "children killed"]
        assert rows[0]["problems"] == "'=1+1 lost"

    def test_it_is_for_people_who_may_rerun(self) -> None:
        client = Client()
        assert client.get(HTML).status_code == 302
        client.force_login(make_user("annotator"))
        assert [client.get(url).status_code for url in (HTML, JSON, CSV)] == [403] * 3
