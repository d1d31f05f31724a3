"""A line of JSON is storable, whether it was looked at closely or seen to need no look."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from webagent.trajectory.files.lines import Lines, read_json
from webagent.trajectory.files.trees import FolderTree
from webagent.trajectory.intake import Bounds, InputError
from webagent.trajectory.texts import storable_json, unstorable_numbers

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


@pytest.mark.parametrize(
    "numbers",
    [
        "1e999",
        "[-1.5E+0400 , 2]",
        '{"x":[NaN],"y": -Infinity}',
        "[1e308,1e-999,1e99]",
        f"[{2**1000 - 1}, {2**1000}, true]",
        '["0e1234", "NaN", "1e999"]',
    ],
)
def test_numbers_that_no_record_holds_are_found_among_those_that_one_does(
    tmp_path: Path, numbers: str
) -> None:
    line = f'{{"id":"a","n":{numbers}}}\n'
    (tmp_path / "some.jsonl").write_text(line * 2)
    tree = FolderTree(tmp_path, BOUNDS)
    refused: list[InputError] = []
    lines = Lines(tree, "some.jsonl", "id", BOUNDS, refused.append)
    places = list(unstorable_numbers(json.loads(line)))
    noted = [f"line {number}: {place}" for number in (1, 2) for place in places]
    assert lines.unstorable_numbers("a") == noted
    assert (lines.bytes, refused) == (2 * len(line), [])
    lines.close()
