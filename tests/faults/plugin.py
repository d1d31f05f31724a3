"""Ties tests to the failures that they cause, and writes down what they found.

    @pytest.mark.fault(9, "the k-th write to the store fails")
    def test_...(findings: Findings): ...

After such a test has passed and uses the database, everything in database and store is checked as
`manage.py check_integrity --hashes` does. With `--fault-report FILE` all that was found is written
there, one record a test, its cases together.
"""

from collections.abc import Generator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from django.utils.module_loading import import_string

from tests.database_use import uses_database
from tests.faults.fault_reports import FaultRecord, FaultReport
from tests.faults.findings import Findings, record, version

FOUND = pytest.StashKey[Findings]()
REPORT = pytest.StashKey["Report"]()


class Report:
    """What the tests of this session found, by test."""

    def __init__(self) -> None:
        self._by_test: dict[str, tuple[int, str, Findings, bool, float, bool]] = {}

    def add(self, item: pytest.Item, *, held: bool, seconds: float, why: str) -> None:
        """Note the end of a test, together with its other cases."""
        mark = item.get_closest_marker("fault")
        assert mark is not None
        number, injected = mark.args
        findings = item.stash.get(FOUND, Findings())
        if why:
            findings.complain([why])
        name = item.nodeid.partition("[")[0]
        if known := self._by_test.get(name):
            known[2].merge(findings)
            findings, held, seconds = known[2], held and known[3], seconds + known[4]
        is_stored = uses_database(item)
        self._by_test[name] = (number, injected, findings, held, seconds, is_stored)

    @property
    def records(self) -> tuple[FaultRecord, ...]:
        return tuple(
            record(
                failure=number,
                test=name,
                injected=injected,
                findings=findings,
                held=held,
                seconds=seconds,
                uses_database=uses_database,
            )
            for name, (number, injected, findings, held, seconds, uses_database) in sorted(
                self._by_test.items()
            )
        )


@pytest.fixture
def findings(request: pytest.FixtureRequest) -> Findings:
    """Where a test notes how often it broke something, and what it found."""
    found = Findings()
    request.node.stash[FOUND] = found
    return found


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--fault-report", type=Path, help="write what tests of faults found there")


def pytest_configure(config: pytest.Config) -> None:
    config.stash[REPORT] = Report()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, None, None]:
    """Look at everything after a test that broke something."""
    yield
    if item.get_closest_marker("fault") and uses_database(item):
        site = getattr(item, "funcargs", {}).get("site")
        import_string("tests.faults.aftermath.everything_holds")(getattr(site, "data_dir", None))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    told = yield
    if item.get_closest_marker("fault") and (call.when == "call" or told.failed):
        why = f"{type(call.excinfo.value).__name__}: {call.excinfo.value}" if call.excinfo else ""
        item.config.stash[REPORT].add(item, held=told.passed, seconds=call.duration, why=why)
    return told


def pytest_sessionfinish(session: pytest.Session) -> None:
    if file := session.config.getoption("fault_report"):
        report = FaultReport(
            made_at=datetime.now(UTC),
            version=version(),
            records=session.config.stash[REPORT].records,
        )
        file.write_text(report.model_dump_json(indent=1))
