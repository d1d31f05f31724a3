"""The API keeps to its own description, whatever is asked. A longer walk: docs/api.md."""

import logging
from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from django.core.signals import request_finished, request_started
from django.db import close_old_connections
from hypothesis import HealthCheck, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.core.result import Ok
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from judging.api.urls import api
from tests.judging.studies.statements import undone
from tests.runs.api.asking import Caller
from tests.runs.factories import make_run, make_user
from webagent.wsgi import application

pytestmark = [pytest.mark.django_db, pytest.mark.postgresql_only("slow, and alike on both")]

EXAMPLES = 2
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]


@schemathesis.serializer("application/zip")
def archives(_context: object, value: object) -> bytes:
    """What is generated for an archive, as it is."""
    return value if isinstance(value, bytes) else str(value).encode(errors="replace")


@pytest.fixture
def connection_stays() -> Iterator[None]:
    """The test's connection outlives the requests, as with Django's own test client."""
    signals = (request_started, request_finished)
    for signal in signals:
        signal.disconnect(close_old_connections)
    yield
    for signal in signals:
        signal.connect(close_old_connections)


@pytest.mark.usefixtures("connection_stays")
def test_answers_are_those_that_are_described(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL)
    make_run(steps=1)
    caller = Caller(make_user("admin"))
    schema = schemathesis.openapi.from_wsgi("/api/v1/openapi.json", application)
    headers = {"Authorization": f"Bearer {caller.key}"}
    asked = 0
    for operation in (each.ok() for each in schema.get_all_operations() if isinstance(each, Ok)):

        @settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck), database=None)
        @given(case=operation.as_strategy())
        def ask(case: Any) -> None:
            nonlocal asked
            with undone():
                case.call_and_validate(headers=headers, checks=CHECKS)
            asked += 1

        ask()
    assert asked >= 2 * len(api.get_openapi_schema()["paths"])


def test_every_operation_is_described_with_its_errors() -> None:
    document = api.get_openapi_schema()
    assert document["openapi"].startswith("3.1")
    operations = [each for methods in document["paths"].values() for each in methods.values()]
    assert len({each["operationId"] for each in operations}) == len(operations) >= 30
    for each in operations:
        assert each["summary"]
        assert each["description"]
        assert each["x-scope"]
        errors = {status for status in each["responses"] if int(status) >= 400}
        assert {401, 403, 422, 429} <= errors
        for status in errors:
            assert "application/problem+json" in each["responses"][status]["content"]
