"""Whatever a pickle holds, it is read as data, runs nothing, and ends in bounded time."""

import datetime
import decimal
import gzip
import pathlib
import pickle
import pickletools
import struct
import time
import uuid
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.webagent.trajectory.conftest import MARKER
from webagent.trajectory.files import inert_pickle
from webagent.trajectory.files.pickle_reader import PickleError, PickleReader
from webagent.trajectory.intake import MIB, Bounds

pytestmark = pytest.mark.slow

BOUNDS = Bounds(pickle_seconds=30.0, pickle_memory_bytes=512 * MIB, pickle_bytes=8 * MIB)


@pytest.fixture(scope="module")
def reader() -> Iterator[PickleReader]:
    with PickleReader(BOUNDS) as open_reader:
        yield open_reader


@dataclass
class Settings:
    name: str
    nested: Any = None


class Colour(Enum):
    RED = "red"

    def __reduce_ex__(self, protocol: object) -> tuple[object, tuple[str]]:
        """By value, as all releases but the first of 3.11 do it."""
        return Colour, (self.value,)


class Runs:
    """Pickles into a call of whatever it is given."""

    def __init__(self, *call: Any) -> None:
        self.call = call

    def __reduce__(self) -> Any:
        return self.call[0], self.call[1:]


def short(text: str) -> bytes:
    encoded = text.encode()
    return b"\x8c" + bytes([len(encoded)]) + encoded


def named(module: str, name: str) -> bytes:
    return short(module) + short(name) + b"\x93"


def test_plain_values_come_through(reader: PickleReader) -> None:
    value = {"a": [1, 2.5, None, True, "ü\n"], "b": {"c": [[], {}]}}
    for protocol in range(6):
        pickled = reader.read(pickle.dumps(value, protocol))
        assert pickled.value == value
        assert pickled.suspicious == ()


def test_known_kinds_become_plain(reader: PickleReader) -> None:
    values = {
        "path": pathlib.PurePosixPath("/a/b"),
        "when": datetime.datetime(2026, 11, 21, 3, 48, 2, 5, datetime.UTC),
        "zoned": datetime.datetime(
            2026, 1, 1, tzinfo=datetime.timezone(datetime.timedelta(hours=9))
        ),
        "day": datetime.date(2026, 11, 21),
        "span": datetime.timedelta(seconds=90),
        "id": uuid.UUID("12345678-1234-5678-1234-567812345678"),
        "price": decimal.Decimal("0.10"),
        "array": np.array([1.5, float("nan")]),
        "index": np.array([3]),
        "scalar": np.float32(0.5),
        "flag": np.bool_(True),
        "odd": float("inf"),
        "bytes": b"\x00\x01",
        "set": {7},
        "ordered": OrderedDict(x=1),
        "large": 2**70,
        "keys": {1: "one"},
    }
    assert reader.read(pickle.dumps(values)).value == {
        "path": "/a/b",
        "when": "2026-11-21T03:48:02.000005+00:00",
        "zoned": "2026-01-01T00:00:00+09:00",
        "day": "2026-11-21",
        "span": 90.0,
        "id": "12345678-1234-5678-1234-567812345678",
        "price": "0.10",
        "array": [1.5, None],
        "index": [3],
        "scalar": 0.5,
        "flag": True,
        "odd": None,
        "bytes": {"$bytes": "AAE="},
        "set": [7],
        "ordered": {"x": 1},
        "large": {"$int": hex(2**70)},
        "keys": {"$pairs": [[1, "one"]]},
    }


def test_text_that_no_database_holds_is_replaced(reader: PickleReader) -> None:
    assert reader.read(pickle.dumps({"a\0": "\ud800b"})).value == {"a\ufffd": "\ufffdb"}


@pytest.mark.parametrize("protocol", [0, 1, 2, 3, 4, 5])
def test_objects_become_their_fields(reader: PickleReader, protocol: int) -> None:
    value = reader.read(pickle.dumps(Settings("x", Settings("y", Colour.RED)), protocol)).value
    assert value["$class"].endswith("Settings")
    assert value["name"] == "x"
    assert value["nested"]["nested"]["$args"] == ["red"]


def test_large_arrays_are_described(reader: PickleReader) -> None:
    value = reader.read(pickle.dumps(np.zeros((300, 300)))).value
    assert value == {"$class": "numpy.ndarray", "shape": [300, 300]}


def test_keys_left_out_can_be_fetched(reader: PickleReader) -> None:
    pickled = pickle.dumps({"obs": {"heavy": {"12": {"bbox": [1, 2, 3, 4]}}}})
    assert reader.read(pickled, leave=("heavy",)).value == {"obs": {"heavy": {"$left": "dict"}}}
    assert reader.get("obs", "heavy", "12", "bbox") == [1, 2, 3, 4]
    assert reader.get("obs", "heavy", "nothing") is None


HOSTILE_CALLS = {
    "os.system": named("os", "system") + short(f"touch {MARKER}") + b"\x85R",
    "posix.system": named("posix", "system") + short(f"touch {MARKER}") + b"\x85R",
    "subprocess": named("subprocess", "Popen") + short(f"touch {MARKER}") + b"\x85R",
    "eval": named("builtins", "eval") + short(f"open({MARKER!r}, 'w')") + b"\x85R",
    "exec": named("builtins", "exec") + short(f"open({MARKER!r}, 'w')") + b"\x85R",
    "open": named("builtins", "open") + short(MARKER) + short("w") + b"\x86R",
    "dotted name": named("agentlab.experiments.loop", "os.system") + short("id") + b"\x85R",
    "getattr chain": named("builtins", "getattr")
    + named("os", "path")
    + short("os")
    + b"\x86R"
    + short(f"touch {MARKER}")
    + b"\x85R",
    "own module": named("inert_pickle", "os.system") + short("id") + b"\x85R",
    "main module": named("__main__", "os.system") + short(f"touch {MARKER}") + b"\x85R",
    "newobj": named("subprocess", "Popen") + short("id") + b"\x85\x81",
    "newobj_ex": named("subprocess", "Popen") + short("id") + b"\x85}\x92",
    "inst": b"(" + short(f"touch {MARKER}") + b"iposix\nsystem\n",
    "obj": b"(" + named("posix", "system") + short(f"touch {MARKER}") + b"o",
    "build": named("os", "environ") + b")R}" + short("PATH") + short("x") + b"sb",
    "setstate on class": named("builtins", "type") + b"}" + short("__init__") + b"Nsb",
    "stand-in's own class": named("webagent.trajectory.files.inert_pickle", "StandIn") + b")R",
}


@pytest.mark.parametrize("name", HOSTILE_CALLS)
def test_calls_become_stand_ins(reader: PickleReader, name: str) -> None:
    content = b"\x80\x04" + HOSTILE_CALLS[name] + b"."
    try:
        pickled = reader.read(content)
    except PickleError:
        pass  # refused is as good as read
    else:
        assert "$" in str(pickled.value)
        if "StandIn" not in str(pickled.globals):
            assert pickled.suspicious
    assert not Path(MARKER).exists()
    assert reader.read(pickle.dumps("still alive")).value == "still alive"


def test_real_reduce_is_inert(reader: PickleReader) -> None:
    import os

    pickled = reader.read(pickle.dumps({"obs": Runs(os.system, f"touch {MARKER}")}))
    assert pickled.value == {
        "obs": {"$class": f"{os.system.__module__}.system", "$args": [f"touch {MARKER}"]}
    }
    assert pickled.suspicious == (f"{os.system.__module__}.system",)
    assert not Path(MARKER).exists()


def test_the_unpickler_resolves_nothing_by_itself() -> None:
    """In this very process: find_class gives stand-ins even for the most innocent names."""
    value, names = inert_pickle.load(pickle.dumps(Settings("x")))
    assert isinstance(value, inert_pickle.StandIn)
    assert not isinstance(value, Settings)
    assert names == [f"{Settings.__module__}.Settings"]


def test_touching_the_system_while_loading_ends_the_process(tmp_path: Path) -> None:
    """The last line of defence: were a name ever resolved, the process would stop at once."""
    import subprocess
    import sys

    marker = tmp_path / "ran"
    program = (
        "import sys, pickle\n"
        f"sys.path.insert(0, {str(Path(inert_pickle.__file__).parent)!r})\n"
        "import inert_pickle\n"
        "def load(content):\n"
        f"    open({str(marker)!r}, 'w')\n"
        "inert_pickle.load = load\n"
        f"sys.argv = ['x', '{512 * MIB}']\n"
        "inert_pickle.main()\n"
    )
    body = b'{"op": "load", "bytes": 1, "budget": {}}'
    done = subprocess.run(
        [sys.executable, "-I", "-c", program],
        input=struct.pack(">I", len(body)) + body + b".",
        capture_output=True,
        timeout=30,
        check=False,
    )
    assert done.returncode == 77
    assert not marker.exists()


def tuple_bomb(levels: int) -> bytes:
    """2^levels values once written out, from two opcodes a level."""
    return b"\x80\x04]" + b"2\x86" * levels + b"."


def list_bomb(levels: int) -> bytes:
    content = b"\x80\x04](K\x01K\x01e\x94"
    for level in range(levels):
        index = bytes([level])
        content += b"0](" + (b"h" + index) * 10 + b"e\x94"
    return content + b"."


NEVER_ENDING = b"\x80\x04}" + b")" + b"2\x86" * 60 + b"Ns."
"""A dictionary key whose hash takes 2^60 additions, in one uninterruptible call."""

HOSTILE_SIZES = {
    "memo index": b"\x80\x02Nr\xff\xff\xff\xff.",
    "memo index, large but not absurd": b"\x80\x02Nr\xff\xff\xff\x1f.",
    "memo index in text": b"\x80\x02Np4000000000\n.",
    "frame length": b"\x80\x04\x95" + b"\xff" * 8 + b"N.",
    "bytes length": b"\x80\x04\x8e" + struct.pack("<Q", 1 << 40) + b"x.",
    "bytes length, half the memory": b"\x80\x04\x8e" + struct.pack("<Q", 1 << 28) + b"x.",
    "bytearray length": b"\x80\x05\x96" + struct.pack("<Q", 1 << 40) + b"x.",
    "text length": b"\x80\x04\x8d" + struct.pack("<Q", 1 << 40) + b"x.",
    "long length": b"\x80\x02\x8b" + struct.pack("<i", (1 << 31) - 1) + b"x.",
    "long in decimal": b"I" + b"9" * 1_000_000 + b"\n.",
    "deep lists": b"\x80\x04" + b"]" * 1_000_000 + b"a" * 999_999 + b".",
    "deep tuples": b"\x80\x04N" + b"\x85" * 1_000_000 + b".",
    "deep dict of tuples as key": b"\x80\x04}N" + b"\x85" * 1_000_000 + b"Ns.",
    "tuple bomb": tuple_bomb(60),
    "list bomb": list_bomb(9),
    "long text many times": b"\x80\x04]" + b"\x8d" + struct.pack("<Q", 4 << 20) + b"x" * (4 << 20)
    + b"\x940(" + b"h\x00" * 1_000_000 + b"l.",
    "marks": b"\x80\x04" + b"(" * 8_000_000,
    "many globals": b"\x80\x04" + b"".join(named("m", f"{i}") + b"0" for i in range(6_000)) + b"N.",
    "extension": b"\x80\x02\x82\x01.",
    "extension 4": b"\x80\x02\x84\x01\x00\x00\x00.",
    "next buffer": b"\x80\x05\x97.",
    "nothing": b"",
    "stop only": b".",
    "html": b"<html></html>",
    "protocol of the future": b"\x80\x63N.",
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE_SIZES)
def test_bombs_are_refused_in_bounded_time(reader: PickleReader, name: str) -> None:
    started = time.monotonic()
    with pytest.raises(PickleError):
        reader.read(HOSTILE_SIZES[name])
    assert time.monotonic() - started < BOUNDS.pickle_seconds + 30
    assert reader.read(pickle.dumps(1)).value == 1


def test_persistent_ids_are_not_looked_up(reader: PickleReader) -> None:
    assert reader.read(b"\x80\x02Psecret\n.").value is None
    assert reader.read(b"\x80\x04" + short("secret") + b"Q.").value is None


def test_a_value_that_holds_itself_is_refused(reader: PickleReader) -> None:
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(PickleError, match="nested deeper"):
        reader.read(pickle.dumps(endless))


def test_gzip_is_bounded_too(reader: PickleReader) -> None:
    with pytest.raises(PickleError, match="times its size"):
        reader.read(gzip.compress(b"\x00" * (7 * MIB)))
    with pytest.raises(PickleError, match="more than"):
        reader.read(pickle.dumps(b"x" * (9 * MIB)))
    inside = gzip.compress(gzip.compress(pickle.dumps(1)))
    with pytest.raises(PickleError, match="damaged"):
        reader.read(inside)


def test_no_more_than_the_time_allowed() -> None:
    with PickleReader(replace(BOUNDS, pickle_seconds=3)) as quick:
        with pytest.raises(PickleError, match="longer than"):
            quick.read(NEVER_ENDING)
        assert quick.read(pickle.dumps([])).value == []


TEXT = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))
JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63) + 1, 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT,
    lambda inner: st.lists(inner) | st.dictionaries(TEXT.filter(lambda key: key[:1] != "$"), inner),
    max_leaves=30,
)
QUICK = settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@QUICK
@given(value=JSON_VALUES, protocol=st.integers(0, 5))
def test_any_plain_value_comes_through(reader: PickleReader, value: Any, protocol: int) -> None:
    assert reader.read(pickle.dumps(value, protocol)).value == value


HONEST = pickle.dumps(
    {"a": Settings("x", [np.array([1]), pathlib.PurePosixPath("p"), {1, 2}])}, protocol=4
)


@QUICK
@given(data=st.data())
def test_damaged_pickles_are_read_or_refused(reader: PickleReader, data: st.DataObject) -> None:
    content = bytearray(HONEST)
    for _ in range(data.draw(st.integers(1, 8))):
        position = data.draw(st.integers(0, len(content) - 1))
        content[position] = data.draw(st.integers(0, 255))
    _read_or_refuse(reader, bytes(content[: data.draw(st.integers(0, len(content)))]))


OPCODES = sorted(op.code.encode("latin-1") for op in pickletools.opcodes)


@QUICK
@given(
    parts=st.lists(
        st.sampled_from(OPCODES) | st.binary(max_size=6) | st.just(named("os", "system")),
        max_size=60,
    )
)
def test_random_opcodes_are_read_or_refused(reader: PickleReader, parts: list[bytes]) -> None:
    _read_or_refuse(reader, b"\x80\x04" + b"".join(parts) + b".")


def _read_or_refuse(reader: PickleReader, content: bytes) -> None:
    try:
        reader.read(content)
    except PickleError:
        return
