"""What is recognised in an upload, and what no database or page can take."""

import io
import json
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.webagent.trajectory.formats import DATA
from tests.webagent.trajectory.samples import run_bundle
from webagent.trajectory import reading
from webagent.trajectory.bundles import RunBundle
from webagent.trajectory.files.assembling import model_names
from webagent.trajectory.files.recognition import Answers, Outline, Recognition, outline, outline_of
from webagent.trajectory.files.trees import FolderTree, Tree
from webagent.trajectory.formats.native.writer import write_folder
from webagent.trajectory.intake import Bounds, Problem, Rejection
from webagent.trajectory.reading import Found, open_runs, why_refused
from webagent.trajectory.surveys import survey


class Claiming:
    """A reader that takes every file with an ending for its own."""

    signs = "any JSON"
    knows_what_is_cut = False

    def __init__(self, name: str, own: str = ".json", uses: str = "") -> None:
        self.name = name
        self._own = own
        self._uses = uses

    def find(self, tree: Tree, bounds: Bounds) -> Recognition:
        own = frozenset(n for n in tree.names if n.endswith(self._own) and n != self._uses)
        uses = frozenset(n for n in tree.names if n == self._uses)
        return Recognition(runs=len(own), files=own, uses=uses)

    def read(self, tree: Tree, bounds: Bounds, answers: Answers) -> Iterator[Found]:
        for name in tree.names:
            yield Problem(self.name, name, "", answers.get("mood", "no answer"))


def test_outlines_are_read_from_the_head_alone() -> None:
    text = json.dumps(
        {"a": {"b": [1, {"c": "}"}]}, "name": 'x"y', "n": 1, "list": ["k", {}], "z": None}
    )
    whole = Outline("object", ("a", "name", "n", "list", "z"), {"name": 'x"y'}, frozenset("b"))
    assert outline_of(text) == whole
    assert outline_of("\ufeff\n" + text) == whole
    assert outline_of(text[: text.index('"list"')]).keys == ("a", "name", "n")
    assert outline_of('[{"type": "message", "x": [1]}, {"other": 1}]') == Outline(
        "array", ("type", "x"), {"type": "message"}
    )
    assert outline_of("[1, 2]") == Outline("array")
    assert outline_of("name,value") == outline_of("") == Outline()
    assert whole.has("a", "z")
    assert not whole.has("a", "b")


def test_a_file_is_outlined_once(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"k": 1}')
    tree = FolderTree(tmp_path, Bounds())
    assert outline(tree, "a.json").keys == ("k",)
    (tmp_path / "a.json").write_text("no JSON any more")
    assert outline(tree, "a.json").keys == ("k",)
    assert outline(tree, "b.json") == Outline()


def test_two_formats_that_want_the_same_file_are_asked_about(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.json").write_text("{}")
    monkeypatch.setattr(reading, "READERS", (Claiming("one"), Claiming("two")))
    with open_runs(tmp_path) as source:
        (refused,) = source
    assert isinstance(refused, Rejection)
    assert (refused.file, refused.reason) == (
        "a.json",
        "may be one or two: say which with the format",
    )
    with open_runs(tmp_path, format="two", answers={"mood": "good"}) as source:
        assert [(found.source, found.reason) for found in source if isinstance(found, Problem)] == [
            ("two", "good")
        ]


def test_files_that_one_format_uses_are_hidden_from_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a.json", "b.json", "c.txt"):
        (tmp_path / name).write_text("{}")
    other = Claiming("two", own="c.txt", uses="b.json")
    monkeypatch.setattr(reading, "READERS", (Claiming("one", uses="b.json"), other))
    with open_runs(tmp_path) as source:
        assert source.unread == ()
        seen = [(found.source, found.file) for found in source if isinstance(found, Problem)]
    assert seen == [("one", "a.json"), ("one", "b.json"), ("two", "b.json"), ("two", "c.txt")]


def test_a_lone_document_is_looked_at_too(tmp_path: Path) -> None:
    path = tmp_path / "strange.json"
    path.write_text('  {"a": 1}')
    for given in (path, io.BytesIO(path.read_bytes())):
        with open_runs(given, label="strange.json") as source:
            (refused,) = source
            assert source.unread == ("strange.json",)
        assert isinstance(refused, Rejection)
        assert refused.reason.startswith("no run of a known format in it. Looked for")
    for words, told in (
        (b'{"a": 1,\n"b": [}', "line 2 column 7"),
        (b'{"a": "\xff"}', "not UTF-8"),
        (b"[" * 100_000, "too deep"),
    ):
        with open_runs(io.BytesIO(words), label="broken.json") as source:
            (refused,) = source
        assert isinstance(refused, Rejection)
        assert refused.field == "JSON"
        assert told in refused.reason
    with open_runs(io.BytesIO(b'{"a": 1}\n{"b"'), label="lines.jsonl") as source:
        (refused,) = source
    assert isinstance(refused, Rejection)
    assert refused.field == "format"
    with open_runs(path, bounds=Bounds(member_bytes=3)) as source:
        (refused,) = source
    assert isinstance(refused, Rejection)
    assert refused.reason == "more than 3 bytes"


def test_a_first_look_counts_and_names_what_nobody_reads(tmp_path: Path) -> None:
    write_folder(tmp_path / "runs", [run_bundle(1), run_bundle(2)])
    (tmp_path / "notes.txt").write_text("mine")
    known = run_bundle(1).content_hash
    with open_runs(tmp_path) as source:
        found = survey(source, is_known=lambda bundle: bundle.content_hash == known).to_json()
    (native,) = found["formats"]
    assert (native["runs"], native["already_there"]) == (2, 1)
    assert (native["steps"], native["screenshots"]) == (6, 6)
    assert found["unread"] == ["notes.txt"]
    assert found["counts"] == {"runs": 2, "rejected": 0, "problems": 0, "unread": 1}
    with open_runs(tmp_path / "nothing") as source:
        assert survey(source).to_json()["counts"]["rejected"] == 1


def test_a_history_is_known_however_large_its_first_item_is(tmp_path: Path) -> None:
    source = DATA / "browser_use" / "find_price" / "history.json"
    document = json.loads(source.read_text())
    first = {"state_message": "x" * 300_000, "large": [{"n": number} for number in range(30_000)]}
    document["history"][0] = first | document["history"][0]
    (tmp_path / "history.json").write_text(json.dumps(document))
    with open_runs(tmp_path) as source_:
        assert source_.formats == ("browser_use",)


@pytest.mark.parametrize(
    "document",
    [
        {"benchmark": "speed", "agent": "curl", "goal": "fast", "steps": []},
        {"benchmark": "speed", "agent": "curl", "goal": "fast", "summary_info": {}, "steps": []},
        {
            "benchmark": "b",
            "agent": "a",
            "goal": "g",
            "summary_info": {"x": 1},
            "steps": [{"y": 1}],
        },
    ],
)
def test_keys_that_others_have_too_make_no_trajectory(
    tmp_path: Path, document: dict[str, Any]
) -> None:
    (tmp_path / "report.json").write_text(json.dumps(document))
    with open_runs(tmp_path) as source:
        assert source.formats == ()


def test_documents_of_one_folder_are_told_apart(tmp_path: Path) -> None:
    source = DATA / "atif" / "find_price"
    shutil.copytree(source, tmp_path / "given" / "runs")
    document = tmp_path / "given" / "runs" / "trajectory.json"
    shutil.copy(document, document.with_name("other.json"))
    with open_runs(tmp_path / "given") as found:
        runs = [item for item in found if isinstance(item, RunBundle)]
    assert {run.source for run in runs} == {"given/runs/trajectory.json", "given/runs/other.json"}
    assert len({run.run.id for run in runs}) == 2


@pytest.mark.parametrize("text", ["half \udfff", "nul \0"])
def test_texts_that_nothing_holds(text):
    bundle = run_bundle(1)
    assert why_refused(bundle, Bounds()) is None
    bad = replace(bundle, run=bundle.run.model_copy(update={"models": (text,)}))
    refused = why_refused(bad, Bounds())
    assert refused is not None
    assert (refused.field, refused.reason) == ("models", "holds invisible or incomplete characters")


def test_names_of_models_are_storable():
    assert model_names(["a\udfff", None, "", "a\udfff", "b"]) == ("a\ufffd", "b")
