"""Files of other tools with anything in them: read, or refused in words we chose."""

from __future__ import annotations

import io
import json
import random
import shutil
import zipfile
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from tests.webagent.trajectory.formats import DATA, read
from webagent.trajectory.bundles import Problem, RunBundle

pytestmark = pytest.mark.slow

ODD: tuple[Any, ...] = (
    *(None, 3, -1, 10**400, float("nan"), True, "", "\ud800\0", "2026-13-45", [], {}),
    *([None], [[1, 2], [3]], {"a": None}, {"$blob": "0" * 64}, "attachment://0"),
    *({"type": "image", "image": 3}, "data:image/png;base64,é", "data:image/png;base64,AAAA"),
)
DOCUMENTS = {
    "atif": "find_price/trajectory.json",
    "computer_use": "checkout__openai_computer_batched.json",
    "webarena_verified": "output/21/eval_result.json",
    "webvoyager": "taskShop--find_price/interact_messages.json",
}
SEEDS = range(6)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place in a JSON value, the first ones of long lists."""
    found = [path]
    inside: list[tuple[Any, Any]] = []
    if isinstance(value, dict):
        inside = list(value.items())
    elif isinstance(value, list):
        inside = list(enumerate(value[:20]))
    for key, item in inside:
        found += places(item, (*path, key))
    return found


def changed(value: Any, chance: random.Random) -> Any:
    """The value with something odd in a few of its places."""
    for _ in range(chance.choice([1, 2, 4])):
        path = chance.choice(places(value))
        if not path:
            return deepcopy(chance.choice(ODD))
        inner = value
        for key in path[:-1]:
            inner = inner[key]
        inner[path[-1]] = deepcopy(chance.choice(ODD))
    return value


def damaged(content: bytes, chance: random.Random) -> bytes:
    """The bytes with some of them changed, or cut."""
    found = bytearray(content)
    for _ in range(chance.choice([1, 20])):
        found[chance.randrange(len(found))] = chance.randrange(256)
    return bytes(found[: chance.choice([len(found), chance.randrange(len(found))])])


def check(folder: Path) -> None:
    for item in read(folder):
        assert isinstance(item, RunBundle | Problem)
        if not isinstance(item, RunBundle):
            assert "unexpected" not in item.reason


@pytest.mark.parametrize("name", DOCUMENTS)
def test_documents_with_anything_in_them(tmp_path, name):
    folder = shutil.copytree(DATA / name, tmp_path / name, ignore=lambda *_: ["truth.json"])
    target = folder / DOCUMENTS[name]
    original = target.read_text()
    for seed in SEEDS:
        target.write_text(json.dumps(changed(json.loads(original), random.Random(seed))))
        check(folder)


@pytest.mark.parametrize(
    "name", ["webarena_native/results/render_903.html", "playwright_trace/fail_pw1.65.2.zip"]
)
def test_files_with_other_bytes(tmp_path, name):
    content = (DATA / name).read_bytes()
    for seed in SEEDS:
        (tmp_path / Path(name).name).write_bytes(damaged(content, random.Random(seed)))
        check(tmp_path)


def test_lines_of_traces_and_samples_of_logs(tmp_path):
    with zipfile.ZipFile(DATA / "playwright_trace" / "fail_pw1.65.2.zip") as trace:
        members = {name: trace.read(name) for name in trace.namelist()}
    lines = members["trace.trace"].splitlines()
    with zipfile.ZipFile(DATA / "inspect_ai" / "old_deflate.eval") as log:
        logged = {name: log.read(name) for name in log.namelist() if "loop" not in name}
    sample = next(name for name in logged if name.startswith("samples/"))
    for seed in SEEDS:
        chance = random.Random(seed)
        other = [
            json.dumps(changed(json.loads(line), chance)).encode()
            if chance.random() < 0.2
            else line
            for line in lines
        ]
        odd = json.dumps(changed(json.loads(logged[sample]), chance)).encode()
        write(tmp_path / "t.zip", members | {"trace.trace": b"\n".join(other)})
        write(tmp_path / "l.eval", logged | {sample: odd})
        check(tmp_path)


def write(path: Path, members: dict[str, bytes]) -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    path.write_bytes(out.getvalue())
