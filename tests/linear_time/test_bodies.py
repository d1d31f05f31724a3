"""Bodies of requests to the API are read, or refused in words, in linear time."""

import json
from collections.abc import Callable

import pytest
from pydantic import BaseModel, ValidationError

from runs.api.bodies import read_json
from runs.api.problems import Problem
from tests.linear_time.growth import Sizes, size_grows_too_fast
from tests.linear_time.sources import modules
from webagent.trajectory.formats.pushed.runs import PushedStep

pytestmark = pytest.mark.slow

SIZES = Sizes(2_500, 20_000)
VALUES: dict[str, Callable[[int], str]] = {
    "letters": lambda n: json.dumps("a" * n),
    "blanks": lambda n: json.dumps(" " * n),
    "escapes": lambda n: '"' + "\\u0061" * n + '"',
    "backslashes": lambda n: '"' + "\\\\" * n + '"',
    "suspects": lambda n: '"' + "\\\\u0000" * n + '"',
    "halves": lambda n: '"' + "\\ud83d\\ude00" * n + '"',
    "digits": lambda n: "9" * n,
    "fraction": lambda n: "0." + "9" * n,
    "exponent": lambda n: "1e" + "9" * n,
    "numbers": lambda n: json.dumps([*range(n)]),
    "objects": lambda n: json.dumps([{"a": i} for i in range(n)]),
    "keys": lambda n: json.dumps({f"key{i}": i for i in range(n)}),
    "depth": lambda n: "[" * n + "]" * n,
    "one key": lambda n: "{" + ",".join(['"a":1'] * n) + "}",
}


def _models() -> list[type[BaseModel]]:
    """Every model of a module of the API, and of what is pushed."""
    return [
        one
        for module in modules()
        if ".api." in module.__name__ or module.__name__ == PushedStep.__module__
        for one in vars(module).values()
        if isinstance(one, type)
        and issubclass(one, BaseModel)
        and one.__module__ == module.__name__
        and one.model_fields
    ]


@pytest.mark.parametrize("value", VALUES)
def test_a_body_takes_linear_time(value: str) -> None:
    def read(body: bytes) -> None:
        try:
            found = read_json(body)
        except Problem:
            return
        for model in models:
            try:
                model.model_validate(found)
            except ValidationError as error:
                error.errors()

    models = _models()
    assert PushedStep in models
    names = {name for model in models for name in model.model_fields}

    def make(n: int) -> bytes:
        raw = VALUES[value](max(n // 20, 2))
        return ("{" + ",".join(f'"{name}":{raw}' for name in sorted(names)) + "}").encode()

    read(make(9))
    assert size_grows_too_fast(read, make, SIZES) is None
