"""What the source files hold: modules, and each regular expression with how it is used."""

import ast
import builtins
import importlib
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).parents[2]
PACKAGES = ("webagent", "runs", "judging")
# They need PyTorch, which only training installs, and read no text from outside.
NOT_INSTALLED = frozenset({"webagent.vision.network", "webagent.vision.train"})
METHODS = frozenset({"match", "search", "fullmatch", "finditer", "findall", "split", "sub", "subn"})
# Searches a task's wording for the pattern that it is given.
HANDS_ON = "asks"
_CALLS = re.compile(rf"\.(?:compile|{HANDS_ON}|{'|'.join(METHODS)})\(")
# Stands for a name that only a function knows, where a pattern is built around it.
SAMPLE = "one two-3"


@dataclass(frozen=True)
class Pattern:
    place: str
    compiled: "re.Pattern[str] | re.Pattern[bytes]"
    method: str

    @property
    def module(self) -> str:
        return self.place.partition(":")[0]

    def __str__(self) -> str:
        return f"{self.place} {self.method} {self.compiled.pattern!r}"


def package_of(name: str) -> str:
    """The part of the project that something belongs to, by its dotted name: `runs.storage`."""
    return ".".join(name.split(".")[:2])


@cache
def modules() -> tuple[ModuleType, ...]:
    """All of the project, with the libraries they need: ask for them within tests only.

    What is asked for while tests are collected is imported by every process that runs any.
    """
    return tuple(importlib.import_module(name) for name in _names())


def packages() -> list[str]:
    """Those that `modules` are of, known without importing them."""
    return sorted({package_of(name) for name in _names()})


@cache
def _names() -> tuple[str, ...]:
    return tuple(
        name
        for package in PACKAGES
        for path in sorted((ROOT / package).rglob("*.py"))
        if (name := _module_name(path)) not in NOT_INSTALLED
        and ".migrations" not in name
        and ".settings" not in name
        and not name.endswith("__main__")
    )


@cache
def patterns() -> tuple[tuple[Pattern, ...], tuple[str, ...]]:
    """Every pattern once for each method it is used by, and the places that could not be read."""
    used: list[Pattern] = []
    unread: list[str] = []
    for module in modules():
        source = Path(str(module.__file__)).read_text(encoding="utf-8")
        if not _CALLS.search(source):
            continue
        for call in (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)):
            if not isinstance(call.func, ast.Attribute):
                continue
            owner, method = call.func.value, call.func.attr
            by_module = isinstance(owner, ast.Name) and owner.id == "re"
            handed_on = method == HANDS_ON
            if handed_on or (by_module and method in METHODS | {"compile"}):
                pattern = _of_arguments(call, method, module)
            elif method in METHODS and not any(isinstance(n, ast.Call) for n in ast.walk(owner)):
                pattern = _value(owner, module)
            else:
                continue
            place = f"{module.__name__}:{call.lineno}"
            if isinstance(pattern, re.Pattern):
                used.append(Pattern(place, pattern, "search" if handed_on else method))
            elif by_module or handed_on:
                unread.append(place)
    return tuple(_each_once(used)), tuple(unread)


def _each_once(used: list[Pattern]) -> list[Pattern]:
    """One that is only compiled is searched for: how it is used is not known."""
    called = {_key(one)[:2] for one in used if one.method != "compile"}
    found: dict[tuple[object, int, str], Pattern] = {}
    for one in used:
        if one.method != "compile":
            found.setdefault(_key(one), one)
        elif _key(one)[:2] not in called:
            found.setdefault(_key(one), Pattern(one.place, one.compiled, "search"))
    return list(found.values())


def _key(pattern: Pattern) -> tuple[object, int, str]:
    return pattern.compiled.pattern, pattern.compiled.flags, pattern.method


def _of_arguments(call: ast.Call, method: str, module: ModuleType) -> object:
    """The pattern that a call hands to `re`, compiled with its flags."""
    place = {"compile": 1, "sub": 4, "subn": 4, "split": 3}.get(method, 2)
    flags = [keyword.value for keyword in call.keywords if keyword.arg == "flags"]
    flags += call.args[place : place + 1]
    pattern = _value(call.args[0], module)
    if not isinstance(pattern, str | bytes):
        return pattern
    values = [_value(flag, module) for flag in flags]
    try:
        return re.compile(pattern, *(flag for flag in values if isinstance(flag, int)))
    except re.error:
        return None


def _value(node: ast.expr, module: ModuleType) -> object:
    """What an expression is in a module; names that only a function knows are `SAMPLE`."""
    code = compile(ast.Expression(node), str(module.__file__), "eval")
    try:
        return eval(code, _Names(vars(module)))  # noqa: S307 - of the project's own source
    except Exception:  # noqa: BLE001 - whatever it needs is not there
        return None


class _Names(dict[str, object]):
    def __missing__(self, name: str) -> object:
        return vars(builtins).get(name, SAMPLE)


def _module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
