"""What is taken for JSON, and which cursors and errors there are: no database is asked."""

from typing import Any

import pytest
from django.http import HttpRequest

from runs.api.assembly import _without_name
from runs.api.bodies import read_json, request_hash
from runs.api.problems import Problem, field_errors, invalid


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"nope",
        b'{"a": NaN}',
        b"[Infinity]",
        b'"\\u0000"',
        b'{"a\\u0000": 1}',
        b'"\\ud800"',
        b'"\\uDFFF and more"',
        b"\xff\xfe",
        '"x"'.encode("utf-16"),
        b"[" * 100_000,
        b"1" * 5000,
    ],
)
def test_what_no_database_could_keep_is_no_json(body: bytes) -> None:
    with pytest.raises(Problem) as caught:
        read_json(body)
    assert caught.value.status == 400
    assert [error.field for error in caught.value.errors] == ["body"]


@pytest.mark.parametrize(
    ("body", "value"),
    [
        (b'{"a": [1, null]}', {"a": [1, None]}),
        (b'"\\\\u0000 in words"', "\\u0000 in words"),
        (b'"\\ud83d\\ude00"', "\N{GRINNING FACE}"),
        ('"ü\N{GRINNING FACE}"'.encode(), "ü\N{GRINNING FACE}"),
    ],
)
def test_what_only_looks_like_it_is_read(body: bytes, value: object) -> None:
    assert read_json(body) == value


def _asked(body: bytes, *, path: str = "/api/v1/runs", method: str = "POST") -> HttpRequest:
    request = HttpRequest()
    request.method, request.path = method, path
    request.content_type = "application/json"
    vars(request)["api_body"] = body
    return request


def test_two_sendings_are_the_same_by_method_address_and_body() -> None:
    same = request_hash(_asked(b"{}"))
    assert request_hash(_asked(b"{}")) == same
    others = (_asked(b"{ }"), _asked(b"{}", path="/api/v1/reruns"), _asked(b"{}", method="PUT"))
    assert same not in {request_hash(other) for other in others}


def test_a_problem_names_fields_as_the_caller_knows_them() -> None:
    found: list[dict[str, Any]] = [
        {"loc": ("body", "asked", "runs", 3), "msg": "no"},
        {"loc": ("query", "limit"), "msg": "x"},
    ]
    assert field_errors(map(_without_name, found)) == [("body.runs.3", "no"), ("query.limit", "x")]
    answer = invalid(("body.a", "y" * 9000)).response()
    assert answer.status_code == 422
    assert len(answer.content) < 1000
