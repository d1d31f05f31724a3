"""Turn pickles into plain JSON without importing or calling anything that they name.

This file is a program of its own that needs the standard library alone: `pickle_reader`
starts it as a separate process with little memory, no files to write and no time to waste,
because some pickles of a few bytes fill memory or never finish. Every global that a pickle
names becomes a stand-in: an object that keeps what it was built from and does nothing.

What a value becomes: see `Plain`.
"""

from __future__ import annotations

import base64
import datetime
import gc
import io
import json
import math
import os
import pickle
import re
import resource
import struct
import sys
from typing import Any, BinaryIO

MAX_GLOBALS = 5_000
SMALL_ARRAY = 4_096
"""Elements of a numpy array that is written out; larger ones are described."""
_HEADER = struct.Struct(">I")
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
"""NUL and halves of surrogate pairs, which neither databases nor UTF-8 hold."""
_COLLECT_AFTER_BYTES = 32 * 1024 * 1024
_REFUSED = 77
"""Exit status when a pickle got so far as to touch the system: it never should."""


class Refused(ValueError):
    """The pickle is damaged, too deep, or too large once written out."""


class StandIn:
    """In place of every object whose class or function the pickle names. Does nothing."""

    __slots__ = ("args", "dict_items", "kwargs", "list_items", "state")
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    state: Any
    list_items: list[Any]
    dict_items: list[tuple[Any, Any]]
    inert_name = ""

    def __new__(cls, *args: Any, **kwargs: Any) -> StandIn:
        self = object.__new__(cls)
        self.args = args
        self.kwargs = kwargs
        self.state = None
        self.list_items = []
        self.dict_items = []
        return self

    def __setstate__(self, state: Any) -> None:
        self.state = state

    def append(self, item: Any) -> None:
        self.list_items.append(item)

    def extend(self, items: Any) -> None:
        self.list_items.extend(items)

    def add(self, item: Any) -> None:
        self.list_items.append(item)

    def __setitem__(self, key: Any, value: Any) -> None:
        self.dict_items.append((key, value))


class InertUnpickler(pickle.Unpickler):
    """Builds containers, numbers, text and stand-ins. Resolves no name, whatever it is."""

    def __init__(self, content: bytes) -> None:
        super().__init__(io.BytesIO(content), fix_imports=False, encoding="utf-8", errors="replace")
        self.named: dict[tuple[str, str], type[StandIn]] = {}

    def find_class(self, module: str, name: str) -> type[StandIn]:
        key = (str(module), str(name))
        if key not in self.named:
            if len(self.named) >= MAX_GLOBALS:
                raise Refused(f"names more than {MAX_GLOBALS} globals")
            inert_name = f"{key[0]}.{key[1]}"
            self.named[key] = type(
                "StandIn", (StandIn,), {"__slots__": (), "inert_name": inert_name}
            )
        return self.named[key]

    def persistent_load(self, pid: Any) -> None:
        """Objects outside the pickle are not fetched."""


def load(content: bytes) -> tuple[Any, list[str]]:
    """The object with stand-ins inside, and every global that the pickle names.

    Raises:
        Refused: damaged, or too large to hold.
    """
    unpickler = InertUnpickler(content)
    try:
        value = unpickler.load()
    except Refused:
        raise
    # Damaged opcodes lead the interpreter to raise nearly anything.
    except Exception as error:
        raise Refused(f"damaged: {type(error).__name__}: {error}"[:300]) from error
    return value, sorted(standin.inert_name for standin in unpickler.named.values())


class Plain:
    """Writes a loaded object out as JSON values.

    dict -> object (`{"$pairs": [[k, v], ...]}` if a key is no text or starts with `$`); list,
    tuple, set -> array; bytes -> `{"$bytes": base64}`; NaN and infinities -> null; integers
    over 63 bits -> `{"$int": hex}`; paths, dates, UUIDs, decimals -> text; time spans ->
    seconds; NUL and half characters -> U+FFFD; small numpy arrays and scalars -> arrays and
    numbers. Any other stand-in becomes `{"$class": name, ...state}` with `$args`, `$kwargs`,
    `$list`, `$items` where it has them; a class or function itself `{"$global": name}`. Keys
    in `leave` are not written out: `{"$left": type}` stands there.
    """

    def __init__(self, depth: int, nodes: int, chars: int, leave: frozenset[str]) -> None:
        self._depth = depth
        self._nodes = nodes
        self._chars = chars
        self._leave = leave
        self.unkept = 0
        """Numbers that are none or infinite."""

    def write(self, value: Any, depth: int = 0) -> Any:
        """The JSON value. Raises Refused where a budget is spent."""
        self._nodes -= 1
        if self._nodes < 0:
            raise Refused("too many values once written out")
        if depth > self._depth:
            raise Refused(f"nested deeper than {self._depth}")
        kind = type(value)
        if kind is str:
            return self._text(value)
        if value is None or kind is bool:
            return value
        if kind is int:
            return value if value.bit_length() < 64 else _large_int(value)
        if kind is float:
            if math.isfinite(value):
                return value
            self.unkept += 1
            return None
        if kind is dict:
            return self._mapping(list(value.items()), depth)
        if kind in (list, tuple, set, frozenset):
            return [self.write(item, depth + 1) for item in value]
        if kind in (bytes, bytearray):
            return {"$bytes": self._text(base64.b64encode(value).decode())}
        if kind is complex:
            return [value.real, value.imag]
        if isinstance(value, StandIn):
            return self._stand_in(value, depth)
        if isinstance(value, type) and issubclass(value, StandIn):
            return {"$global": value.inert_name}
        return {"$class": kind.__name__}

    def _text(self, value: str) -> str:
        self._chars -= len(value)
        if self._chars < 0:
            raise Refused("too much text once written out")
        return _UNSTORABLE.sub("\ufffd", value)

    def _mapping(self, items: list[tuple[Any, Any]], depth: int) -> dict[str, Any]:
        if all(type(key) is str and not key.startswith("$") for key, _ in items):
            return {
                self._text(key): {"$left": type(value).__name__}
                if key in self._leave
                else self.write(value, depth + 1)
                for key, value in items
            }
        return {"$pairs": [[self.write(k, depth + 1), self.write(v, depth + 1)] for k, v in items]}

    def _stand_in(self, value: StandIn, depth: int) -> Any:
        name, args = value.inert_name, value.args
        if name in _BUILDERS and args:
            # Protocols 0 and 1 build objects through these: the class is the first argument.
            name = getattr(args[0], "inert_name", name)
            args = ()
        converted = _converted(name, args, value, self, depth)
        if converted is not NotImplemented:
            return converted
        out: dict[str, Any] = {"$class": self._text(name)}
        if args:
            out["$args"] = self.write(args, depth + 1)
        if value.kwargs:
            out["$kwargs"] = self.write(value.kwargs, depth + 1)
        if value.list_items:
            out["$list"] = self.write(value.list_items, depth + 1)
        if value.dict_items:
            out["$items"] = self._mapping(value.dict_items, depth + 1)
        for state in _states(value.state):
            if type(state) is dict and (fields := self._mapping(list(state.items()), depth)):
                out.update({"$state": fields} if "$pairs" in fields else fields)
            elif type(state) is not dict and state is not None:
                out["$state"] = self.write(state, depth + 1)
        return out


def _states(state: Any) -> tuple[Any, ...]:
    """The `__dict__` and slots of an object, however it was pickled."""
    if type(state) is tuple and len(state) == 2 and type(state[1]) is dict:
        return state
    return (state,)


def _large_int(value: int) -> dict[str, Any]:
    if value.bit_length() > 4_096:
        return {"$int_bits": value.bit_length()}
    return {"$int": hex(value)}


# Up to protocol 2, pickles use the names that modules had in Python 2.
_BUILDERS = frozenset(
    f"{module}.{name}"
    for module in ("copyreg", "copy_reg")
    for name in ("_reconstructor", "__newobj__")
)
_CONTAINERS = frozenset(
    f"{module}.{name}"
    for module in ("builtins", "__builtin__")
    for name in ("set", "frozenset", "list", "tuple")
)
_ARRAYS = tuple(f"numpy.{package}.multiarray." for package in ("core", "_core"))
_DTYPES = {
    "i1": "b", "i2": "h", "i4": "i", "i8": "q",
    "u1": "B", "u2": "H", "u4": "I", "u8": "Q",
    "f2": "e", "f4": "f", "f8": "d", "b1": "?",
}  # fmt: skip


def _converted(name: str, args: tuple[Any, ...], value: StandIn, plain: Plain, depth: int) -> Any:
    """A plain value for the few kinds that are understood; NotImplemented for the rest."""
    try:
        if name.startswith(_ARRAYS) and name.endswith("._reconstruct"):
            return _array(value.state)
        if name.startswith(_ARRAYS) and name.endswith(".scalar"):
            (number,) = _numbers(args[0], args[1])
            return number
        if name.startswith("pathlib.") and all(type(part) is str for part in args):
            return plain.write("/".join(args).replace("//", "/"), depth)
        if name.startswith("datetime.") and (moment := _moment(name, args)) is not None:
            return moment
        if name == "uuid.UUID" and type(value.state) is dict:
            digits = f"{value.state['int']:032x}"
            return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"
        if name == "decimal.Decimal" and len(args) == 1 and type(args[0]) is str:
            return plain.write(args[0], depth)
        if name in _CONTAINERS:
            return plain.write(list(args[0]) if args else [], depth)
        if name == "collections.OrderedDict" and not args:
            return plain.write(dict(value.dict_items), depth)
    except Refused:
        raise
    except Exception:  # noqa: BLE001 (not built as its real class would be: a stand-in still)
        return NotImplemented
    return NotImplemented


def _numbers(dtype: Any, raw: bytes) -> list[Any]:
    code, order = dtype.args[0], dtype.state[1]
    size = struct.calcsize(_DTYPES[code])
    count = len(raw) // size
    if count > SMALL_ARRAY:
        raise Refused("not small")
    sign = ">" if order == ">" else "<"
    numbers = struct.unpack(f"{sign}{count}{_DTYPES[code]}", raw[: count * size])
    return [n if not isinstance(n, float) or math.isfinite(n) else None for n in numbers]


def _array(state: Any) -> Any:
    _, shape, dtype, _, raw = state
    try:
        numbers = _numbers(dtype, raw)
    except (Refused, KeyError):
        return {"$class": "numpy.ndarray", "shape": [int(n) for n in shape]}
    return numbers[0] if shape == () else numbers


def _moment(name: str, args: tuple[Any, ...]) -> Any:
    """ISO 8601 text of a date or time (naive if the pickle has no fixed offset)."""
    if name == "datetime.timedelta":
        return datetime.timedelta(*args).total_seconds()
    raw = args[0] if args and type(args[0]) is bytes else b""
    if name == "datetime.date" and len(raw) == 4:
        return datetime.date(raw[0] * 256 + raw[1], raw[2], raw[3]).isoformat()
    if name == "datetime.datetime" and len(raw) == 10:
        day = datetime.date(raw[0] * 256 + raw[1], raw[2] & 0x7F, raw[3])
        micro = raw[7] << 16 | raw[8] << 8 | raw[9]
        zone = _zone(args[1]) if len(args) > 1 else None
        clock = datetime.time(raw[4], raw[5], raw[6], micro, zone)
        return datetime.datetime.combine(day, clock).isoformat()
    return None


def _zone(stand_in: Any) -> datetime.timezone | None:
    if not isinstance(stand_in, StandIn) or stand_in.inert_name != "datetime.timezone":
        return None
    offset = stand_in.args[0] if stand_in.args else None
    if isinstance(offset, StandIn):
        return datetime.timezone(datetime.timedelta(*offset.args))
    return datetime.UTC


class Server:
    """Answers requests on a pipe: load a pickle, or write out more of the last one.

    A request is a length, a JSON head, and for `load` the pickle itself; an answer is a
    length and JSON.
    """

    def __init__(self, source: BinaryIO, sink: BinaryIO) -> None:
        self._source = source
        self._sink = sink
        self._value: Any = None
        self._budget: dict[str, int] = {}
        self._since_collection = 0
        self.loading = False

    def serve(self) -> None:
        """Until the pipe is closed."""
        while head := self._source.read(_HEADER.size):
            request = json.loads(self._source.read(_HEADER.unpack(head)[0]))
            try:
                answer = self._load(request) if request["op"] == "load" else self._get(request)
            except Refused as error:
                answer = {"error": str(error)}
            except MemoryError:
                self._value = None
                answer = {"error": "needs more memory than allowed"}
            except RecursionError:
                answer = {"error": "nested too deeply"}
            body = json.dumps(answer).encode()
            self._sink.write(_HEADER.pack(len(body)) + body)
            self._sink.flush()

    def _load(self, request: dict[str, Any]) -> dict[str, Any]:
        content = self._source.read(request["bytes"])
        self._value = None
        self._since_collection += len(content)
        if self._since_collection > _COLLECT_AFTER_BYTES:
            gc.collect()
            self._since_collection = 0
        self._budget = request["budget"]
        self.loading = True
        try:
            self._value, named = load(content)
        finally:
            self.loading = False
        plain = self._plain(request)
        value = plain.write(self._value)
        return {"value": value, "globals": named, "unkept": plain.unkept}

    def _get(self, request: dict[str, Any]) -> dict[str, Any]:
        value = self._value
        for key in request["path"]:
            value = _child(value, key)
        return {"value": self._plain(request).write(value)}

    def _plain(self, request: dict[str, Any]) -> Plain:
        return Plain(**self._budget, leave=frozenset(request.get("leave", ())))


def _child(value: Any, key: str) -> Any:
    """The value under a key or field; None if there is none."""
    if type(value) is dict:
        return value.get(key)
    if isinstance(value, StandIn):
        for state in _states(value.state):
            if type(state) is dict and key in state:
                return state[key]
    return None


def _confine(memory_bytes: int) -> None:
    """Take from this process what reading a pickle does not need."""
    limits = {
        resource.RLIMIT_AS: memory_bytes,
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_FSIZE: 0,
        resource.RLIMIT_NPROC: 0,
        resource.RLIMIT_NOFILE: 16,
    }
    for limit, value in limits.items():
        hard = resource.getrlimit(limit)[1]
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        try:
            resource.setrlimit(limit, (value, value))
        except (OSError, ValueError):  # Not every system has every limit.
            continue


def main() -> None:
    """Serve on standard input and output until they close."""
    _confine(int(sys.argv[1]))
    gc.disable()
    server = Server(sys.stdin.buffer, sys.stdout.buffer)

    def watch(event: str, _args: object) -> None:
        # Nothing in a pickle reaches the system; should that ever be wrong, stop at once.
        if server.loading:
            os._exit(_REFUSED)

    sys.addaudithook(watch)
    server.serve()


if __name__ == "__main__":
    main()
