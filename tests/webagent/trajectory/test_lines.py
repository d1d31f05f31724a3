"""A line of JSON is storable, whether it was looked at closely or seen to need no look."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from webagent.trajectory.bounds import Bounds
from webagent.trajectory.bundles import InputError
from webagent.trajectory.files.lines import read_json
from webagent.trajectory.texts import storable_json

pytestmark = pytest.mark.slow

BOUNDS = Bounds()
scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(min_value=2**62, max_value=2**70)
    | st.floats()
    | st.text(st.characters())
)
values = st.recursive(scalars, lambda inside: st.lists(inside) | st.dictionaries(st.text(), inside))
objects = st.dictionaries(st.text(), values)


@given(value=objects, escaped=st.booleans())
@example(value={"n": float("inf"), "m": float("nan"), "big": 2**1100}, escaped=False)
def test_it_reads_as_the_careful_way_does(value: dict[str, Any], escaped: bool) -> None:
    line = json.dumps(value, ensure_ascii=escaped).encode("utf-8", "surrogatepass") + b"\n"
    careful = storable_json(json.loads(line), BOUNDS.text_chars, BOUNDS.json_depth)
    assert read_json(line, BOUNDS) == careful


@pytest.mark.parametrize(
    ("line", "read"),
    [
        (b'{"a": 1e999, "b": -Infinity}', {"a": None, "b": None}),
        (b'{"a": 99999999999999999999}', {"a": 1e20}),
        (b'{"a": "\xed\xa0\x80"}', {"a": "\ufffd"}),
        (b'{"a": "\\u0000\\ud800"}', {"a": "\ufffd\ufffd"}),
        ('{"a": "é"}'.encode("utf-16-le"), {"a": "é"}),
        (b'\xef\xbb\xbf{"a": 1}', {"a": 1}),
    ],
)
def test_what_no_database_holds_is_cleaned(line: bytes, read: dict[str, Any]) -> None:
    assert read_json(line, BOUNDS) == read


@pytest.mark.parametrize(
    "line", [b"{", b"{} {}", b'{"a": \x00}', b'{"a": "\xff"}', b"[1]", b"{'a'}"]
)
def test_what_is_no_object_is_said(line: bytes) -> None:
    with pytest.raises(InputError):
        read_json(line, BOUNDS)


def test_long_texts_are_cut_and_deep_ones_refused() -> None:
    small = Bounds(text_chars=10, json_depth=3)
    assert read_json(b'{"a": "0123456789abc"}', small) == {"a": "012345678…"}
    assert read_json(b'{"a": {"b": 1}}', small) == {"a": {"b": 1}}
    with pytest.raises(InputError, match="nested too deeply"):
        read_json(b'{"a": {"b": {"c": [1]}}}', small)
