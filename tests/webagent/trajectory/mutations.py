"""Samples of every format, and what can be taken from or broken in them, one thing at a time."""

import io
import json
import re
import shutil
import zipfile
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from PIL import Image

from tests.webagent.trajectory.agentlab_folders import LOGIN
from tests.webagent.trajectory.demonstrations import written_out
from tests.webagent.trajectory.formats import DATA, runs
from tests.webagent.trajectory.samples import png_of
from webagent.trajectory.formats.native.writer import write_folder

BASE64_PICTURE = re.compile(r"(?:iVBORw0KGgo|/9j/|UklGR)[\w+/=]{100,}")
PICTURES = (".png", ".jpeg", ".jpg", ".webp")
ODD_NUMBERS: tuple[Any, ...] = (float("nan"), 10**400, 2**63, "seven")
ONLINE_MIND2WEB = "9bc273eec1046d94e07c58307391dd57"
NO_PIXELS = png_of(b"no pixels", 8, 8)
MOST_NUMBERS = 10
"""Of one document: a sample of its keys, spread over all of it."""


@dataclass(frozen=True)
class Mutation:
    """One thing that is taken from a sample, or broken in it."""

    what: str
    """`picture`, `step` or `number`."""
    where: str
    how: str
    change: Callable[[Path], None]
    value: Any = None
    """What stands there instead, for numbers."""


def samples(folder: Path) -> dict[str, Path]:
    """A folder with a sample of each format."""
    agentlab = next((DATA / "agentlab" / "scripted").glob(f"*{LOGIN}"))
    found = {"agentlab": _copied(agentlab, folder / "agentlab" / agentlab.name).parent}
    whole = {
        "atif": "atif/find_price",
        "browser_use": "browser_use/find_price",
        "browser_use_embedded": "browser_use/v0148_find_price",
        "online_mind2web_v1": f"online_mind2web/v1/{ONLINE_MIND2WEB}",
        "online_mind2web_v2": f"online_mind2web/v2/{ONLINE_MIND2WEB}",
        "webarena": "webarena_native/results",
        "webarena_verified": "webarena_verified/output/21",
        "webvoyager": "webvoyager/taskShop--find_price",
    }
    for name, place in whole.items():
        found[name] = _copied(DATA / place, folder / name / Path(place).name).parent
    found["agentrewardbench"] = _one_of_a_benchmark(folder / "agentrewardbench")
    alone = "find_price__anthropic_20250124.json"
    found["computer_use"] = folder / "computer_use"
    found["computer_use"].mkdir()
    shutil.copy(DATA / "computer_use" / alone, found["computer_use"] / alone)
    for name, archive in (
        ("inspect_ai", "inspect_ai/old_deflate.eval"),
        ("playwright_trace", "playwright_trace/buy_pw1.44.0.zip"),
    ):
        found[name] = folder / name
        with zipfile.ZipFile(DATA / archive) as packed:
            packed.extractall(found[name] / "run")
    for spare in sorted(found["inspect_ai"].glob("run/samples/*.json"))[1:]:
        spare.unlink()
    found["wonderbread"] = written_out(folder / "wonderbread")
    found["native"] = folder / "native"
    write_folder(found["native"], list(runs(found["browser_use"]).values()))
    return found


def _one_of_a_benchmark(folder: Path) -> Path:
    """One trajectory with its pictures and judgments."""
    source = DATA / "agentrewardbench" / "trajectories"
    for path in source.rglob("*miniwob.login-user*"):
        target = folder / "trajectories" / path.relative_to(source)
        target.parent.mkdir(parents=True, exist_ok=True)
        (shutil.copytree if path.is_dir() else shutil.copy)(path, target)
    return folder


def _copied(source: Path, target: Path) -> Path:
    return shutil.copytree(source, target, ignore=shutil.ignore_patterns("truth.json", "*.md"))


def picture_of(kind: str) -> bytes:
    out = io.BytesIO()
    Image.new("RGB", (8, 8)).save(out, kind)
    return out.getvalue()


def mutations(folder: Path) -> Iterator[Mutation]:
    """Everything in a sample that its source names, taken away or broken one by one."""
    if any(path.suffix in PICTURES for path in folder.rglob("*")):
        yield Mutation("picture", "all", "removed", _without_pictures)
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if not path.is_file():
            continue
        if path.suffix in PICTURES:
            yield from _of_file("picture", name)
            yield Mutation("picture", name, "no pixels", _written(name, NO_PIXELS))
            yield Mutation("picture", name, "a BMP", _written(name, picture_of("BMP")))
            yield Mutation("picture", name, "renamed", _renamed(name))
        elif path.name.startswith("step_"):
            yield from _of_file("step", name)
            yield Mutation("step", name, "renamed", _renamed(name))
        elif path.suffix in (".json", ".jsonl", ".har", ".html", ".trace"):
            yield from _of_text(name, path.read_text())


def _of_file(what: str, name: str) -> Iterator[Mutation]:
    yield Mutation(what, name, "removed", lambda root: (root / name).unlink())

    def cut(root: Path) -> None:
        content = (root / name).read_bytes()
        (root / name).write_bytes(content[: len(content) // 2])

    yield Mutation(what, name, "cut in half", cut)


def _without_pictures(root: Path) -> None:
    for path in root.rglob("*"):
        if path.suffix in PICTURES:
            path.unlink()


def _written(name: str, content: bytes) -> Callable[[Path], None]:
    def write(root: Path) -> None:
        (root / name).write_bytes(content)

    return write


def _renamed(name: str) -> Callable[[Path], None]:
    def rename(root: Path) -> None:
        (root / name).rename((root / name).with_name("else" + Path(name).suffix))

    return rename


def _of_text(name: str, text: str) -> Iterator[Mutation]:
    for place, match in enumerate(BASE64_PICTURE.finditer(text)):
        start, end = match.start(), (match.start() + match.end()) // 8 * 4
        half = text[:end] + text[match.end() :]
        yield Mutation("picture", f"{name}#{place}", "cut in half", _written(name, half.encode()))
        broken = text[: start + 60] + "A" * (match.end() - start - 60) + text[match.end() :]
        yield Mutation("picture", f"{name}#{place}", "no pixels", _written(name, broken.encode()))
    lines = text.splitlines() if name.endswith((".jsonl", ".trace")) else [text]
    if name.endswith(".html"):
        return
    for number, line in enumerate(lines):
        if len(line) < 2_000_000 and (number < 6 or not name.endswith(".trace")):
            yield from _of_document(name, lines, number)


def _of_document(name: str, lines: list[str], number: int) -> Iterator[Mutation]:
    document = json.loads(lines[number])

    def mutation(what: str, path: tuple[Any, ...], how: str, other: Any) -> Mutation:
        mutated = json.dumps(other)
        content = "\n".join((*lines[:number], mutated, *lines[number + 1 :]))
        where = f"{name}:{number}: {'.'.join(map(str, path))}"
        value = _at(other, path) if what == "number" else None
        return Mutation(what, where, how, _written(name, content.encode()), value)

    found = list(_numbers(document))
    stride = max(1, len(found) // MOST_NUMBERS)
    for place, path in enumerate(found[::stride]):
        odd = ODD_NUMBERS[(place + number) % len(ODD_NUMBERS)]
        other = deepcopy(document)
        _at(other, path[:-1])[path[-1]] = odd
        yield mutation("number", path, f"{odd!r}", other)
    for path in _numbered_lists(document):
        for place in range(len(_at(document, path))):
            other = deepcopy(document)
            del _at(other, path)[place]
            yield mutation("step", (*path, place), "removed", other)


def _at(value: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        value = value[key]
    return value


def _numbers(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where numbers stand: of alike items in lists, in the first one."""
    if isinstance(value, bool | str):
        return
    if isinstance(value, int | float):
        yield path
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _numbers(item, (*path, key))
    elif isinstance(value, list):
        for place, item in enumerate(value[:2]):
            yield from _numbers(item, (*path, place))


def _numbered_lists(value: Any) -> Iterator[tuple[Any, ...]]:
    """Lists at the top whose items carry their own number, or are counted beside."""
    for key, listed in value.items() if isinstance(value, dict) else ():
        items = listed if isinstance(listed, list) else []
        if len(items) > 1 and all(isinstance(item, dict) for item in items):
            own = [item.keys() & {"num", "step", "step_id"} for item in items]
            nested = [item.get("metadata") or {} for item in items]
            if all(own) or any("step_number" in each for each in nested if isinstance(each, dict)):
                yield (key,)
