"""The project's functions of texts: found by their signatures, called without side effects."""

import inspect
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count

from tests.linear_time.sources import modules

_FROM_TEXT: dict[str, Callable[[str], object]] = {
    "str": lambda text: text,
    "str | None": lambda text: text,
    "bytes": lambda text: text.encode("utf-8", "surrogatepass"),
    "JsonValue": lambda text: text,
    "object": lambda text: text,
    "list[str]": lambda text: text.split(),
    "tuple[str, ...]": lambda text: tuple(text.split()),
    "Sequence[str]": lambda text: text.split(),
    "Iterable[str]": lambda text: text.split(),
    "Mapping[str, JsonValue]": lambda text: {text: text},
    "dict[str, JsonValue]": lambda text: {text: text},
}
_OTHERWISE: dict[str, object] = {"int": 3, "int | None": 3, "bool": True}
_NUMBERS = count()
_MODULES = re.compile(r"\b(?:\w+\.)+(?=\w)")


@dataclass(frozen=True)
class TextFunction:
    """A function whose every parameter can be made from a text."""

    name: str
    function: Callable[..., object]
    kinds: tuple[str, ...]

    def works(self) -> Iterator[Callable[[str], object]]:
        """The function of one text: in every parameter, and in each while the others are short."""
        places = [place for place, kind in enumerate(self.kinds) if kind in _FROM_TEXT]
        yield self._with(places)
        if len(places) > 1:
            for place in places:
                yield self._with([place])

    def _with(self, hostile: list[int]) -> Callable[[str], object]:
        def work(text: str) -> None:
            # No two texts are the same: what is cached is not measured.
            text = f"{text} {next(_NUMBERS)}"
            arguments = [
                _FROM_TEXT[kind](text if place in hostile else "a")
                if kind in _FROM_TEXT
                else _OTHERWISE[kind]
                for place, kind in enumerate(self.kinds)
            ]
            try:
                with no_side_effects():
                    result = self.function(*arguments)
                    if inspect.isgenerator(result):
                        list(result)
            except Exception:  # noqa: BLE001, S110 - refused in whatever words; its work counts
                pass

        return work


def text_functions() -> Iterator[TextFunction]:
    """Every function of a module whose required parameters are texts, or numbers beside texts."""
    known = _FROM_TEXT.keys() | _OTHERWISE.keys()
    for module in modules():
        for name, function in sorted(vars(module).items()):
            if (
                not inspect.isroutine(function)
                or getattr(function, "__module__", "") != module.__name__
            ):
                continue
            try:
                kinds = _kinds(function)
            except (TypeError, ValueError):
                continue
            if known >= set(kinds) and not set(kinds).isdisjoint(_FROM_TEXT):
                yield TextFunction(f"{module.__name__}.{name}", function, kinds)


def _kinds(function: Callable[..., object]) -> tuple[str, ...]:
    required = [
        parameter
        for parameter in inspect.signature(function).parameters.values()
        if parameter.default is parameter.empty
        and parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
    ]
    return tuple(as_written(parameter.annotation) for parameter in required)


def as_written(annotation: object) -> str:
    """A parameter's annotation without the modules of its names, as the source has it."""
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    return _MODULES.sub("", text)


_REFUSED = ("os.", "shutil.", "subprocess.", "socket.", "tempfile.", "sqlite3.")
_HARMLESS = frozenset({"os.listdir", "os.scandir", "os.walk", "os.fwalk"})
_refusing = False


@contextmanager
def no_side_effects() -> Iterator[None]:
    """Writing a file, starting a process and opening a connection are errors."""
    global _refusing  # a hook cannot be taken away again
    _refusing = True
    try:
        yield
    finally:
        _refusing = False


def _refuse(event: str, arguments: tuple[object, ...]) -> None:
    if not _refusing:
        return
    writes = event == "open" and isinstance(arguments[1], str) and set(arguments[1]) & set("wax+")
    if writes or (event.startswith(_REFUSED) and event not in _HARMLESS):
        raise PermissionError(event)


sys.addaudithook(_refuse)
