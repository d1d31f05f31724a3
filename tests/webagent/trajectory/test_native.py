"""The native format goes round without loss, and what is broken is said, not guessed."""

import hashlib
import io
import json
import shutil
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.webagent.trajectory.formats import DATA
from tests.webagent.trajectory.samples import run_bundle
from webagent.trajectory import blobs
from webagent.trajectory.blobs import BlobError, BlobStash
from webagent.trajectory.bundles import RunBundle
from webagent.trajectory.formats.native.schema import Blinding
from webagent.trajectory.formats.native.writer import write_folder, write_zip
from webagent.trajectory.intake import Bounds, Problem, Rejection
from webagent.trajectory.reading import Found, open_runs, why_refused
from webagent.trajectory.records import BlobRecord, Observation, Outcome, RunRecord

FORMATS = sorted(truth.parent.name for truth in DATA.glob("*/truth.json"))


def read(path: Path, bounds: Bounds | None = None) -> list[Found]:
    with open_runs(path, format="native", bounds=bounds) as source:
        return list(source)


def bundles(path: Path) -> list[RunBundle]:
    found = read(path)
    assert all(isinstance(item, RunBundle) for item in found), found
    return [item for item in found if isinstance(item, RunBundle)]


def edit(path: Path, name: str, change: Callable[[list[bytes]], list[bytes]]) -> None:
    """Change the lines of one file inside a native folder."""
    file = path / name
    file.write_bytes(b"".join(change(file.read_bytes().splitlines(keepends=True))))


def with_key(line: bytes, key: str, spelled: str) -> bytes:
    """The line with one more key, whose value is spelled like this."""
    return line.rstrip().removesuffix(b"}") + f',"{key}":{spelled}}}\n'.encode()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_folder(tmp_path / "runs", [run_bundle(n) for n in range(3)])
    return tmp_path / "runs"


@pytest.mark.parametrize("form", ["zip", "folder"])
def test_runs_go_round_without_loss(tmp_path: Path, form: str) -> None:
    given = [run_bundle(n) for n in range(3)]
    target = tmp_path / "out"
    (write_zip if form == "zip" else write_folder)(target, given)
    with open_runs(target) as source:
        assert (source.formats, source.total) == (("native",), 3)
        for expected, found in zip(given, source, strict=True):
            assert isinstance(found, RunBundle)
            assert list(found.records())[0] == expected.task
            assert found.run == expected.run
            assert found.steps == expected.steps
            assert found.evaluations == expected.evaluations
            assert found.labels == expected.labels
            assert found.adjudications == expected.adjudications
            assert found.content_hash == expected.content_hash
            for blob in expected.blob_records():
                assert found.read_blob(blob.sha256) == expected.read_blob(blob.sha256)


def test_the_same_runs_give_the_same_bytes(tmp_path: Path) -> None:
    first, second, third = (tmp_path / name for name in ("a.zip", "b.zip", "c.zip"))
    write_zip(first, [run_bundle(n) for n in range(3)])
    write_zip(second, [run_bundle(n) for n in range(3)])
    assert first.read_bytes() == second.read_bytes()
    with open_runs(first) as source:
        write_zip(third, (item for item in source if isinstance(item, RunBundle)))
    assert first.read_bytes() == third.read_bytes()


def test_recorded_runs_go_round_with_the_same_hash(tmp_path: Path) -> None:
    target = tmp_path / "runs.zip"
    with open_runs(DATA / "agentlab") as source:
        given = [item for item in source if isinstance(item, RunBundle)]
        write_zip(target, given)
    with open_runs(target) as source:
        found = [item for item in source if isinstance(item, RunBundle)]
        assert [f.content_hash for f in found] == [g.content_hash for g in given]
        assert [f.steps for f in found] == [g.steps for g in given]
        assert [f.run for f in found] == [
            g.run.model_copy(update={"task_id": f.task.id})
            for f, g in zip(found, given, strict=True)
        ]
        again = tmp_path / "again.zip"
        write_zip(again, found)
    assert again.read_bytes() == target.read_bytes()


def test_what_is_unknown_is_absent_and_a_blob_stands_there_once(tmp_path: Path) -> None:
    with open_runs(DATA / "agentlab") as source:
        recorded = [item for item in source if isinstance(item, RunBundle)]
        write_zip(tmp_path / "x.zip", [*recorded, run_bundle(0), run_bundle(1)])
    with zipfile.ZipFile(tmp_path / "x.zip") as archive:
        names = archive.namelist()
        lines = {n: archive.read(n).splitlines() for n in names if n.endswith(".jsonl")}
        forms = {
            entry.filename.rpartition(".")[2]: entry.compress_type for entry in archive.filelist
        }
    fields = [json.loads(line) for name in lines for line in lines[name]]
    assert len(fields) > 50
    assert not [key for line in fields for key, value in line.items() if value in (None, "")]
    assert b"NaN" not in b"".join(lines["steps.jsonl"])
    assert len(names) == len(set(names))
    tasks = [json.loads(line)["id"] for line in lines["tasks.jsonl"]]
    assert len(tasks) == len(set(tasks)) < len(lines["runs.jsonl"])
    assert (forms["png"], forms["jsonl"]) == (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
    # Money is a decimal as text, times are of one zone.
    last = json.loads(lines["runs.jsonl"][-1])
    assert (last["totals"]["cost"], last["started_at"]) == ("0.03", "2026-11-21T03:04:05.000600Z")


def test_keys_that_nobody_knows_go_round(tmp_path: Path, folder: Path) -> None:
    def add(lines: list[bytes]) -> list[bytes]:
        return [
            json.dumps({**json.loads(line), "future": {"a": None, "b": [1.0]}}).encode() + b"\n"
            for line in lines
        ]

    for name in ("tasks.jsonl", "runs.jsonl", "steps.jsonl", "labels.jsonl"):
        edit(folder, name, add)
    (folder / "manifest.json").unlink()
    found = [item for item in read(folder) if isinstance(item, RunBundle)]
    write_zip(tmp_path / "again.zip", found)
    (again, *_) = bundles(tmp_path / "again.zip")
    future = {"a": None, "b": [1.0]}
    for record in (again.task, again.run, again.steps[0], again.labels[0]):
        assert (record.model_extra or {})["future"] == future


def test_tasks_of_one_id_and_two_contents_are_both_kept(tmp_path: Path) -> None:
    first, second = run_bundle(0), run_bundle(1)
    other = second.task.model_copy(update={"id": first.task.id})
    run = second.run.model_copy(update={"task_id": first.task.id})
    write_zip(tmp_path / "x.zip", [first, replace(second, task=other, run=run)])
    one, two = bundles(tmp_path / "x.zip")
    assert one.task == first.task
    assert two.task.external_id == "shop.1"
    assert two.run.task_id == two.task.id != one.task.id


def test_hashes_ignore_ids_and_places_but_nothing_else() -> None:
    given = run_bundle()
    moved = given.run.model_copy(
        update={"id": "other", "experiment": "x", "attempt": 2, "retry_of": "y", "trial": 4}
    )
    steps = tuple(step.model_copy(update={"run_id": "other"}) for step in given.steps)
    assert replace(given, run=moved, steps=steps).content_hash == given.content_hash
    changes: dict[str, object] = {"reward": 0.5, "outcome": Outcome.FAILURE, "seed": 8}
    hashes = {
        replace(given, run=given.run.model_copy(update={key: value})).content_hash
        for key, value in changes.items()
    }
    hashes.add(replace(given, steps=given.steps[:2]).content_hash)
    assert len(hashes | {given.content_hash}) == 5


def test_hashes_survive_what_databases_do_to_numbers() -> None:
    given = run_bundle()
    stored = given.run.to_json() | {"extra": {"kept": [True], "n": 2}}
    before = RunRecord.model_validate(stored | {"extra": {"kept": [True], "n": 2.0}})
    totals = stored["totals"] | {"cost": "0.030000"}
    after = RunRecord.model_validate(stored | {"totals": totals})
    assert replace(given, run=before).content_hash == replace(given, run=after).content_hash


class TestDamage:
    def test_a_missing_blob_leaves_a_gap(self, folder: Path) -> None:
        lost = run_bundle(0).steps[1].before
        assert lost is not None
        assert lost.screenshot is not None
        sha256 = lost.screenshot.sha256
        (folder / "blobs" / sha256[:2] / f"{sha256}.png").unlink()
        first, *others = bundles(folder)
        assert first.steps[1].before is not None
        assert first.steps[1].before.screenshot is None
        assert first.steps[1].before.a11y_tree is not None
        assert [(gap.what, gap.where) for gap in first.run.gaps[1:]] == [("screenshot", sha256)]
        assert [problem.reason for problem in first.problems] == ["not in the file"]
        assert not any(other.problems for other in others)

    def test_changed_bytes_are_noticed(self, folder: Path) -> None:
        blob = sorted((folder / "blobs").rglob("*.png"))[0]
        blob.write_bytes(blob.read_bytes()[:-1] + b"x")
        problems = [problem for bundle in bundles(folder) for problem in bundle.problems]
        assert [p.reason for p in problems] == ["the bytes are not those that the hash names"]

    def test_changed_bytes_in_a_zip_are_noticed_by_their_hash(self, tmp_path: Path) -> None:
        target = tmp_path / "runs.zip"
        write_zip(target, [run_bundle(0)])
        with zipfile.ZipFile(target) as archive:
            pictures = [m for m in archive.infolist() if m.filename.endswith(".png")]
            assert {m.compress_type for m in pictures} == {zipfile.ZIP_STORED}
            content = archive.read(pictures[0])
        target.write_bytes(target.read_bytes().replace(content, content[:-1] + b"x"))
        [damaged] = bundles(target)
        assert [p.reason for p in damaged.problems] == [
            "the bytes are not those that the hash names"
        ]
        assert damaged.run.gaps[-1].what == "screenshot"

    @pytest.mark.parametrize("is_held", [True, False])
    def test_bytes_that_change_between_two_readings_are_noticed(
        self, folder: Path, is_held: bool, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(blobs, "HELD_BYTES", 10**6 if is_held else 0)
        with open_runs(folder) as source:
            first = next(iter(source))
            assert isinstance(first, RunBundle)
            blob = next(first.blob_records())
            path = folder / "blobs" / blob.sha256[:2] / f"{blob.sha256}.png"
            path.write_bytes(b"other")
            if is_held:
                assert hashlib.sha256(first.read_blob(blob.sha256)).hexdigest() == blob.sha256
                return
            with pytest.raises(BlobError):
                first.read_blob(blob.sha256)

    def test_a_picture_of_another_kind_than_is_said_is_none(self, folder: Path) -> None:
        for name in ("tasks.jsonl", "steps.jsonl"):
            edit(
                folder, name, lambda ls: [line.replace(b"image/png", b"image/webp") for line in ls]
            )
        first = next(item for item in read(folder) if isinstance(item, RunBundle))
        assert first.n_screenshots == 0
        assert [part.model_dump().get("text") for part in first.task.goal] == ["Buy “it” 🙂"]
        assert {gap.why for gap in first.run.gaps if gap.what == "screenshot"} == {
            "image/png instead of image/webp"
        }

    def test_lines_that_are_no_json_are_said(self, folder: Path) -> None:
        edit(folder, "labels.jsonl", lambda lines: [lines[0], b"{oops\n", b"[1]\n", *lines[1:]])
        found = read(folder)
        problems = [item for item in found if not isinstance(item, RunBundle)]
        assert [(p.file, p.line, p.field) for p in problems] == [
            ("labels.jsonl", 2, ""),
            ("labels.jsonl", 3, ""),
            ("labels.jsonl", 0, "sha256"),
        ]
        assert len([item for item in found if isinstance(item, RunBundle)]) == 3

    def test_a_run_with_wrong_values_is_rejected_alone(self, folder: Path) -> None:
        edit(
            folder,
            "steps.jsonl",
            lambda lines: [lines[0].replace(b'"index":0', b'"index":-1'), *lines[1:]],
        )
        rejected = [item for item in read(folder) if isinstance(item, Rejection)]
        assert [(r.source, r.file, r.line, r.field) for r in rejected] == [
            ("runs#run-0", "steps.jsonl", 1, "index")
        ]

    def test_a_run_whose_steps_are_cut_is_rejected(self, folder: Path) -> None:
        edit(folder, "steps.jsonl", lambda lines: lines[:5])
        found = read(folder)
        good = [item.run.id for item in found if isinstance(item, RunBundle)]
        assert good == ["run-0"]
        reasons = {r.source: r.reason for r in found if isinstance(r, Rejection)}
        assert reasons == {
            "runs#run-1": "2 of 3 steps are here",
            "runs#run-2": "0 of 3 steps are here",
        }

    def test_lines_may_stand_in_any_order(self, folder: Path) -> None:
        expected = [bundle.content_hash for bundle in bundles(folder)]

        def shuffle(lines: list[bytes]) -> list[bytes]:
            return [*lines[1::2], *lines[::2]]

        edit(folder, "evaluations.jsonl", lambda lines: lines[::-1])
        edit(folder, "tasks.jsonl", shuffle)
        (folder / "manifest.json").unlink()
        found = [item for item in read(folder) if isinstance(item, RunBundle)]
        assert [bundle.content_hash for bundle in found] == expected
        assert all(bundle.evaluations for bundle in found)

    def test_strays_and_unknown_tasks_are_said(self, folder: Path) -> None:
        edit(folder, "runs.jsonl", lambda lines: lines[1:])
        edit(folder, "tasks.jsonl", lambda lines: lines[:2])
        found = [item for item in read(folder) if not isinstance(item, RunBundle)]
        reasons = {item.reason for item in found}
        assert "run-0 is not in runs.jsonl" in reasons
        assert "task-2 is not in tasks.jsonl" in reasons

    def test_an_id_that_stands_there_twice_is_refused(self, folder: Path) -> None:
        edit(folder, "runs.jsonl", lambda lines: [*lines, lines[0]])
        rejected = [item for item in read(folder) if isinstance(item, Rejection)]
        assert [r.reason for r in rejected] == ["appears twice"]

    def test_newer_versions_and_foreign_manifests_are_refused(self, folder: Path) -> None:
        manifest = folder / "manifest.json"
        good = json.loads(manifest.read_text())
        manifest.write_text(json.dumps(good | {"version": 2}))
        (rejected,) = read(folder)
        assert isinstance(rejected, Rejection)
        assert (rejected.file, rejected.field) == ("manifest.json", "version")
        manifest.write_text(json.dumps(good | {"format": "other"}))
        (rejected,) = read(folder)
        assert isinstance(rejected, Rejection)
        assert rejected.reason.startswith("no native run in it. Looked for native: manifest.json")

    @pytest.mark.parametrize("share", [0.3, 0.5, 0.7, 0.9])
    def test_a_cut_zip_gives_its_whole_runs(self, tmp_path: Path, share: float) -> None:
        whole = tmp_path / "whole.zip"
        given = [run_bundle(n, n_steps=20) for n in range(4)]
        write_zip(whole, given)
        content = whole.read_bytes()
        cut = tmp_path / "cut.zip"
        cut.write_bytes(content[: int(len(content) * share)])
        expected = {bundle.run.id: bundle.content_hash for bundle in given}
        found = read(cut)
        assert isinstance(found[0], Problem)
        assert "cut short" in found[0].reason
        runs = [item for item in found if isinstance(item, RunBundle)]
        assert all(expected[run.run.id] == run.content_hash for run in runs)
        assert len(runs) == {0.3: 0, 0.5: 2, 0.7: 4, 0.9: 4}[share]

    @pytest.mark.parametrize(
        "written", [1700000000, 1.5, True, "1700000000", "2026-11-21", "20261121T030405Z"]
    )
    def test_a_time_that_is_not_written_as_one_is_refused(self, folder: Path, written: Any) -> None:
        def change(lines: list[bytes]) -> list[bytes]:
            first = json.loads(lines[0]) | {"started_at": written}
            return [json.dumps(first).encode() + b"\n", *lines[1:]]

        edit(folder, "runs.jsonl", change)
        (rejected,) = (item for item in read(folder) if isinstance(item, Rejection))
        assert "started_at" in rejected.field

    def test_a_number_that_is_none_is_a_gap(self, folder: Path) -> None:
        edit(folder, "steps.jsonl", lambda lines: [with_key(lines[0], "odd", "1e400"), *lines[1:]])
        found = next(item for item in read(folder) if isinstance(item, RunBundle))
        last = found.run.gaps[-1]
        assert (last.what, last.where) == ("value", "steps.jsonl: line 1: odd")

    @pytest.mark.parametrize("role", ["screenshot", "log"])
    def test_what_is_shown_as_a_picture_must_be_one(self, tmp_path: Path, role: str) -> None:
        given = run_bundle(0)
        stash = BlobStash()
        for blob in given.blob_records():
            stash.add_bytes(given.read_blob(blob.sha256))
        sha256 = stash.add_bytes(b"These are words.")
        words = BlobRecord(sha256=sha256, media_type="text/plain", bytes=16, role=role)
        step = given.steps[0].model_copy(update={"before": Observation(screenshot=words)})
        write_folder(tmp_path, [replace(given, steps=(step, *given.steps[1:]), blobs=stash)])
        (found,) = read(tmp_path)
        assert isinstance(found, RunBundle)
        assert found.n_screenshots == given.n_screenshots - 1
        last = found.run.gaps[-1]
        assert (last.what, last.where) == (role, sha256)

    def test_steps_that_nobody_counts_are_not_taken_for_all(self, folder: Path) -> None:
        def uncounted(lines: list[bytes]) -> list[bytes]:
            runs = [json.loads(line) for line in lines]
            return [
                json.dumps({k: r[k] for k in r if k != "n_steps"}).encode() + b"\n" for r in runs
            ]

        edit(folder, "runs.jsonl", uncounted)
        edit(folder, "steps.jsonl", lambda lines: lines[:-1])
        assert not any(isinstance(item, RunBundle) for item in read(folder))

    def test_depth_and_length_are_bounded(self, folder: Path) -> None:
        deep = b'{"id":"x","a":' + b"[" * 5_000 + b"]" * 5_000 + b"}\n"
        edit(folder, "labels.jsonl", lambda lines: [deep, *lines])
        assert any("nested too deeply" in i.reason for i in read(folder) if isinstance(i, Problem))
        short = Bounds(line_bytes=50)
        assert not any(isinstance(item, RunBundle) for item in read(folder, short))
        few = Bounds(steps_per_run=2)
        rejected = [item for item in read(folder, few) if isinstance(item, Rejection)]
        assert len(rejected) == 3
        none = [item for item in read(folder, Bounds(runs=2)) if isinstance(item, RunBundle)]
        assert none == []

    def test_text_that_no_database_holds_is_replaced(self, folder: Path) -> None:
        bad = b'"thought":"a\\u0000b\\ud800c"'
        edit(
            folder,
            "steps.jsonl",
            lambda lines: [lines[0].replace(b'"thought":"thought 0"', bad), *lines[1:]],
        )
        first = next(item for item in read(folder) if isinstance(item, RunBundle))
        assert first.steps[0].thought == "a\ufffdb\ufffdc"


class TestRefusedRecords:
    """What passes the schema and still cannot be taken."""

    @pytest.mark.parametrize(
        ("change", "field"),
        [
            ({"trial": 0}, "run.trial"),
            ({"seed": 2**70}, "seed"),
            ({"experiment": "x" * 201}, "run.experiment"),
            ({"models": ("",)}, "run.models.0"),
            ({"task_id": "other"}, "run.task_id"),
        ],
    )
    def test_runs(self, tmp_path: Path, change: dict[str, object], field: str) -> None:
        given = run_bundle()
        changed = replace(given, run=given.run.model_copy(update=change))
        rejected = why_refused(changed, Bounds())
        assert rejected is not None
        assert rejected.field == field
        assert why_refused(given, Bounds()) is None

    def test_gaps_in_the_numbering(self) -> None:
        given = run_bundle()
        rejected = why_refused(replace(given, steps=given.steps[::2]), Bounds())
        assert rejected is not None
        assert rejected.field == "steps.index"


class TestBlindExport:
    @pytest.fixture
    def blind(self, tmp_path: Path) -> Callable[[Blinding], str]:
        def write(blinding: Blinding) -> str:
            target = tmp_path / f"{blinding.hide_agent}.zip"
            given = run_bundle()
            future = given.run.model_copy(update={"future": {"verdict": "SECRET-FUTURE"}})
            write_zip(target, [replace(given, run=future)], blinding=blinding)
            with zipfile.ZipFile(target) as archive:
                return "\n".join(
                    archive.read(name).decode("latin-1") + name for name in archive.namelist()
                )

        return write

    def test_no_verdict_reference_or_reward_is_in_it(
        self, blind: Callable[[Blinding], str]
    ) -> None:
        content = blind(Blinding())
        for secret in ("REF", "COMMENT", "RATIONALE", "PATH", "FUTURE"):
            assert f"SECRET-{secret}" not in content
        for word in ("0.125", "cum_reward", "passed", '"success"', "claimed", "terminated"):
            assert word not in content
        assert "SECRET-AGENT" in content
        assert '"blind":true' in content
        assert "click('1')" in content

    def test_no_agent_model_or_experiment_if_they_are_hidden(
        self, blind: Callable[[Blinding], str]
    ) -> None:
        assert "SECRET" not in blind(Blinding(hide_agent=True))

    def test_a_blind_file_can_be_read(self, tmp_path: Path) -> None:
        given = run_bundle()
        write_zip(tmp_path / "x.zip", [given], blinding=Blinding(hide_agent=True))
        (found,) = bundles(tmp_path / "x.zip")
        assert found.n_screenshots == given.n_screenshots
        assert [step.thought for step in found.steps] == [step.thought for step in given.steps]
        assert (found.evaluations, found.labels, found.adjudications) == ((), (), ())


def test_a_blob_that_cannot_be_had_stops_the_export(tmp_path: Path) -> None:
    with pytest.raises(BlobError):
        write_zip(tmp_path / "x.zip", [replace(run_bundle(), blobs=BlobStash())])


def test_folders_are_never_written_over(folder: Path) -> None:
    with pytest.raises(FileExistsError):
        write_folder(folder, [])


def test_an_open_file_is_read_as_well() -> None:
    out = io.BytesIO()
    write_zip(out, [run_bundle()])
    out.seek(0)
    with open_runs(out, label="upload.zip") as source:
        (found,) = source
    assert isinstance(found, RunBundle)
    assert found.source == "upload.zip#run-0"


def test_a_native_file_inside_a_folder_is_found(tmp_path: Path) -> None:
    write_folder(tmp_path / "deep" / "er", [run_bundle()])
    (found,) = bundles(tmp_path)
    assert found.source == f"{tmp_path.name}/deep/er#run-0"


@pytest.mark.parametrize("form", [form for form in FORMATS if form != "atif"])
@pytest.mark.slow
def test_what_a_blob_seems_to_be_makes_it_nothing_else(tmp_path: Path, form: str) -> None:
    """Runs of other tools carry files in their form, and are native ones all the same."""
    with open_runs(DATA / form) as source:
        originals = [item for item in source if isinstance(item, RunBundle)]
        write_folder(tmp_path / "out", originals)
    shutil.copytree(DATA / "atif", tmp_path / "beside")
    with open_runs(tmp_path) as source:
        assert source.formats == ("native", "atif")
        found = [item.content_hash for item in source if isinstance(item, RunBundle)]
    assert {bundle.content_hash for bundle in originals} < set(found)
