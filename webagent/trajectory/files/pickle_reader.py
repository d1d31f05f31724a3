"""Read pickles in a process of their own that can neither harm nor hang this one."""

import json
import os
import re
import select
import struct
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from webagent.trajectory.files import inert_pickle
from webagent.trajectory.files.archives import GZIP_MAGIC, gunzip
from webagent.trajectory.files.trees import TreeError
from webagent.trajectory.intake import BoundError, Bounds

_HEADER = struct.Struct(">I")
_PROGRAM = Path(inert_pickle.__file__)
_ANSWER_PER_PICKLE_BYTE = 16
"""JSON is longer than pickle: memoised text is written out each time."""

# fmt: off
_SUSPICIOUS_MODULES = frozenset((
    "os", "posix", "nt", "subprocess", "sys", "shutil", "socket", "signal", "pty", "platform",
    "importlib", "runpy", "code", "codeop", "types", "inspect", "linecache", "site", "sysconfig",
    "ctypes", "multiprocessing", "threading", "_thread", "asyncio", "commands", "popen2",
    "timeit", "cProfile", "profile", "pdb", "bdb", "pickle", "_pickle", "marshal", "shelve",
    "webbrowser", "urllib", "http", "requests", "pip", "torch", "functools", "operator",
    "tempfile", "glob", "io", "_io",
))
_SUSPICIOUS_BUILTINS = frozenset((
    "eval", "exec", "execfile", "compile", "__import__", "getattr", "setattr", "delattr", "open",
    "input", "globals", "locals", "vars", "breakpoint", "memoryview", "type", "apply",
))
# fmt: on
_SUSPICIOUS_ATTRIBUTE = re.compile(r"__\w+__|\.(system|popen|eval|exec)\b")
_BUILTIN_MODULES = frozenset({"builtins", "__builtin__", "__builtins__"})


class PickleError(ValueError):
    """A pickle that cannot be read, in words for the import report."""


@dataclass(frozen=True, slots=True)
class Pickled:
    """What a pickle holds, as `inert_pickle.Plain` writes it, and the globals it names."""

    value: Any
    globals: tuple[str, ...]
    unkept: int = 0
    """Numbers in it that are none or infinite: nothing stands in their place."""

    @property
    def suspicious(self) -> tuple[str, ...]:
        """Named globals that no honest file of recorded data needs."""
        return tuple(name for name in self.globals if _is_suspicious(name))


class PickleReader:
    """Turns pickles into plain values. Use in `with`: it holds a process."""

    def __init__(self, bounds: Bounds) -> None:
        self._bounds = bounds
        self._process: subprocess.Popen[bytes] | None = None
        self._to = self._from = -1

    def read(self, content: bytes, *, leave: Sequence[str] = ()) -> Pickled:
        """What the pickle (or gzip of one) holds; nothing in it is imported or run.

        Args:
            leave: dictionary keys whose values are not written out; `get` fetches them.

        Raises:
            PickleError: damaged, or beyond the bounds in size, depth, memory or time.
        """
        limit = self._bounds.pickle_bytes
        try:
            if content.startswith(GZIP_MAGIC):
                content = gunzip(content, self._bounds, limit)
        except (BoundError, TreeError) as error:
            raise PickleError(str(error)) from error
        if len(content) > limit:
            raise PickleError(f"more than {limit} bytes")
        budget = {
            "depth": self._bounds.pickle_depth,
            "nodes": self._bounds.pickle_nodes,
            "chars": 4 * limit,
        }
        head = {"op": "load", "bytes": len(content), "leave": list(leave), "budget": budget}
        answer = self._ask(head, content)
        return Pickled(answer["value"], tuple(answer["globals"]), answer["unkept"])

    def get(self, *path: str) -> Any:
        """A value inside the pickle read last, by keys or field names; None if not there.

        Raises:
            PickleError: beyond the bounds once written out.
        """
        return self._ask({"op": "get", "path": list(path)})["value"]

    def close(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _ask(self, head: dict[str, Any], payload: bytes = b"") -> dict[str, Any]:
        self._start()
        deadline = time.monotonic() + self._bounds.pickle_seconds
        body = json.dumps(head).encode()
        try:
            self._send(_HEADER.pack(len(body)) + body + payload, deadline)
            (length,) = _HEADER.unpack(self._receive(_HEADER.size, deadline))
            if length > _ANSWER_PER_PICKLE_BYTE * self._bounds.pickle_bytes:
                raise PickleError("too large once written out")
            answer = json.loads(self._receive(length, deadline))
        except PickleError:
            self.close()
            raise
        except OSError as error:
            self.close()
            raise PickleError("the process that read it died") from error
        if "error" in answer:
            raise PickleError(str(answer["error"]))
        return dict(answer)

    def _start(self) -> None:
        if self._process is not None:
            return
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", str(_PROGRAM), str(self._bounds.pickle_memory_bytes)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={},
            cwd="/",
            bufsize=0,
        )
        if process.stdin is None or process.stdout is None:
            raise PickleError("the process that reads pickles has no pipes")
        self._process = process
        self._to, self._from = process.stdin.fileno(), process.stdout.fileno()
        os.set_blocking(self._to, False)

    def _send(self, content: bytes, deadline: float) -> None:
        rest = memoryview(content)
        while rest:
            self._wait(self._to, select.POLLOUT, deadline)
            rest = rest[os.write(self._to, rest[: 1 << 16]) :]

    def _receive(self, size: int, deadline: float) -> bytes:
        received = bytearray()
        while len(received) < size:
            self._wait(self._from, select.POLLIN, deadline)
            chunk = os.read(self._from, min(size - len(received), 1 << 20))
            if not chunk:
                raise PickleError("the process that read it died: too deep or too large")
            received += chunk
        return bytes(received)

    def _wait(self, descriptor: int, event: int, deadline: float) -> None:
        poll = select.poll()
        poll.register(descriptor, event)
        left = deadline - time.monotonic()
        if left <= 0 or not poll.poll(left * 1000):
            raise PickleError(f"takes longer than {self._bounds.pickle_seconds:g} s")


def _is_suspicious(name: str) -> bool:
    module, _, attribute = name.partition(".")
    if module in _BUILTIN_MODULES:
        return attribute.split(".")[0] in _SUSPICIOUS_BUILTINS or "__" in attribute
    return module in _SUSPICIOUS_MODULES or bool(_SUSPICIOUS_ATTRIBUTE.search(name))
