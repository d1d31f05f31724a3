"""Hostile archives and folders: nothing leaves the tree, nothing grows without bound."""

import gzip
import io
import os
import resource
import struct
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.webagent.trajectory.samples import run_bundle
from webagent.trajectory.bundles import RunBundle
from webagent.trajectory.files.archives import ZipTree, gunzip
from webagent.trajectory.files.opening import open_tree
from webagent.trajectory.files.trees import FolderTree, TreeError, read_file
from webagent.trajectory.formats.native.writer import write_zip
from webagent.trajectory.intake import KIB, MIB, BoundError, Bounds, Rejection
from webagent.trajectory.reading import open_runs

AGENTLAB = Path(__file__).parents[2] / "data" / "agentlab"


def link(name: str, target: str) -> tuple[zipfile.ZipInfo, bytes]:
    entry = zipfile.ZipInfo(name)
    entry.create_system = 3
    entry.external_attr = 0o120777 << 16
    return entry, target.encode()


def device(name: str) -> tuple[zipfile.ZipInfo, bytes]:
    entry = zipfile.ZipInfo(name)
    entry.create_system = 3
    entry.external_attr = 0o020666 << 16
    return entry, b""


@pytest.fixture
def archive(tmp_path: Path) -> Callable[..., Path]:
    def make(*members: tuple[str | zipfile.ZipInfo, bytes]) -> Path:
        path = tmp_path / "given.zip"
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as out:
            for name, content in members:
                out.writestr(name, content)
        return path

    return make


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("../out.txt", "leads outside"),
        ("a/../../out.txt", "leads outside"),
        ("/etc/passwd", "absolute path, empty segment or forbidden character"),
        ("C:/windows.txt", "leads outside"),
        ("a\\..\\b.txt", "absolute path, empty segment or forbidden character"),
        ("a//b.txt", "absolute path, empty segment or forbidden character"),
        ("./a.txt", "absolute path, empty segment or forbidden character"),
        ("a\nb.txt", "absolute path, empty segment or forbidden character"),
        ("a/" * 40 + "b", "path too long or too deep"),
        ("a" * 501, "path too long or too deep"),
    ],
)
def test_names_that_lead_elsewhere_are_refused(
    archive: Callable[..., Path], name: str, reason: str
) -> None:
    tree = open_tree(archive((name, b"x"), ("good.txt", b"y")), Bounds())
    assert tree.names == ("good.txt",)
    assert [problem.reason for problem in tree.problems] == [reason]
    tree.close()


def test_links_and_devices_are_refused(archive: Callable[..., Path]) -> None:
    tree = open_tree(archive(link("a.png", "/etc/passwd"), device("b")), Bounds())
    assert tree.names == ()
    reasons = [problem.reason for problem in tree.problems]
    assert reasons == ["symbolic link", "not a regular file"]
    tree.close()


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_name_that_stands_there_twice_is_refused(archive: Callable[..., Path]) -> None:
    tree = open_tree(archive(("a", b"1"), ("b", b"2"), ("a", b"3")), Bounds())
    assert tree.names == ("b",)
    tree.close()


def test_encrypted_and_exotic_members_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.zip"
    with zipfile.ZipFile(path, "w") as out:
        out.writestr("lzma", b"x" * 100, zipfile.ZIP_LZMA)
        out.writestr("plain", b"x")
    content = bytearray(path.read_bytes())
    at = content.rindex(b"PK\x01\x02")
    content[at + 8] |= 1  # the encryption flag of the second member
    path.write_bytes(content)
    tree = open_tree(path, Bounds())
    assert tree.names == ()
    assert {problem.reason for problem in tree.problems} == {
        "encrypted",
        "compression method 14 is not read",
    }
    tree.close()


def test_bombs_are_refused_before_anything_is_read(archive: Callable[..., Path]) -> None:
    path = archive(("exp_args.pkl", b"\0" * (50 * MIB)))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with open_runs(path) as source:
        (rejected,) = source
    assert isinstance(rejected, Rejection)
    assert "times its size" in rejected.reason
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 20 * KIB


@pytest.mark.parametrize(
    ("bounds", "word"),
    [
        (Bounds(members=2), "members"),
        (Bounds(total_bytes=10), "bytes when decompressed"),
        (Bounds(upload_bytes=10), "bytes"),
    ],
)
def test_counts_and_sizes_are_bounded(
    archive: Callable[..., Path], bounds: Bounds, word: str
) -> None:
    path = archive(*((f"{n}.txt", b"12345") for n in range(3)))
    with pytest.raises(BoundError, match=word):
        open_tree(path, bounds)


def test_a_member_beyond_its_bound_is_left_out(archive: Callable[..., Path]) -> None:
    tree = open_tree(archive(("a", b"12345"), ("b", b"1")), Bounds(member_bytes=4))
    assert tree.names == ("b",)
    tree.close()


def test_a_size_that_lies_gives_no_more_than_it_says(archive: Callable[..., Path]) -> None:
    path = archive(("a", b"\0" * MIB))
    content = bytearray(path.read_bytes())
    for magic, offset in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        struct.pack_into("<I", content, content.index(magic) + offset, 10)
    path.write_bytes(content)
    tree = open_tree(path, Bounds())
    assert tree.size("a") == 10
    with pytest.raises(TreeError, match="CRC"):
        read_file(tree, "a", MIB)
    tree.close()


@pytest.mark.parametrize("size", [300 * KIB, 3 * MIB])
def test_members_that_are_not_compressed_are_read_whole_and_held_to_their_sums(
    tmp_path: Path, size: int
) -> None:
    path = tmp_path / "given.zip"
    content = os.urandom(size)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as out:
        out.writestr("empty", b"")
        out.writestr("a", content)
    bounds = Bounds(members=3)  # so few that their listing has to be smaller than the file
    tree = open_tree(path, bounds)
    assert read_file(tree, "a", size) == content
    assert read_file(tree, "empty", 0) == b""
    with pytest.raises(BoundError, match=f"more than {size - 1} bytes"):
        read_file(tree, "a", size - 1)
    tree.close()
    changed = bytearray(path.read_bytes())
    changed[changed.index(content) + size // 2] ^= 1
    path.write_bytes(changed)
    tree = open_tree(path, bounds)
    with pytest.raises(TreeError, match="sum|CRC"):
        read_file(tree, "a", size)
    tree.close()


def test_a_listing_of_too_many_members_is_never_parsed() -> None:
    entry = struct.pack("<4s6H3L5H2L", b"PK\x01\x02", *[0] * 16) + b""
    count = 40_000
    listing = entry * count
    end = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 100, 100, len(listing), 0, 0)
    with pytest.raises(BoundError, match="members"):
        ZipTree(io.BytesIO(listing + end), Bounds(members=10_000), "x")


@pytest.mark.parametrize("content", [b"", b"PK", b"not a zip", b"PK\x05\x06" + b"\0" * 18 + b"x"])
def test_what_is_no_zip_is_one_rejection(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x.zip"
    path.write_bytes(content)
    with open_runs(path) as source:
        (rejected,) = source
    assert isinstance(rejected, Rejection)
    assert rejected.source == "x.zip"


def test_nothing_there_is_one_rejection(tmp_path: Path) -> None:
    with open_runs(tmp_path / "nothing") as source:
        (rejected,) = source
    assert rejected == Rejection("nothing", "nothing", "", "no such file or folder")
    with open_runs(tmp_path) as source:
        (rejected,) = source
    assert isinstance(rejected, Rejection)
    assert rejected.reason.startswith("no run of a known format in it. Looked for native: ")
    assert "exp_args.pkl" in rejected.reason
    with pytest.raises(ValueError, match="unknown format"):
        open_runs(tmp_path, format="nonsense")


class TestFolders:
    def test_links_are_taken_only_inside(self, tmp_path: Path) -> None:
        outside = tmp_path / "secret.txt"
        outside.write_text("secret")
        folder = tmp_path / "given"
        (folder / "sub").mkdir(parents=True)
        (folder / "a.txt").write_text("a")
        (folder / "inside.txt").symlink_to(folder / "a.txt")
        (folder / "outside.txt").symlink_to(outside)
        (folder / "relative.txt").symlink_to("../secret.txt")
        (folder / "etc").symlink_to("/etc")
        (folder / "again").symlink_to(folder)
        (folder / "broken").symlink_to("nowhere")
        os.mkfifo(folder / "pipe")
        tree = FolderTree(folder, Bounds())
        assert tree.names == ("a.txt", "inside.txt")
        assert read_file(tree, "inside.txt", 10) == b"a"
        assert {problem.file: problem.reason for problem in tree.problems} == {
            "again": "not a regular file",
            "broken": "link that leads nowhere",
            "etc": "leads outside",
            "outside.txt": "leads outside",
            "pipe": "not a regular file",
            "relative.txt": "leads outside",
        }

    def test_a_file_that_becomes_a_link_is_not_followed(self, tmp_path: Path) -> None:
        outside = tmp_path / "secret.txt"
        outside.write_text("secret")
        folder = tmp_path / "given"
        folder.mkdir()
        (folder / "a.txt").write_text("a")
        tree = FolderTree(folder, Bounds())
        (folder / "a.txt").unlink()
        (folder / "a.txt").symlink_to(outside)
        with pytest.raises(TreeError):
            read_file(tree, "a.txt", 10)

    def test_counts_are_bounded(self, tmp_path: Path) -> None:
        for n in range(3):
            (tmp_path / str(n)).write_text("x")
        with pytest.raises(BoundError):
            FolderTree(tmp_path, Bounds(members=2))


class TestGzip:
    def test_several_members_are_one_text(self) -> None:
        assert gunzip(gzip.compress(b"a") + gzip.compress(b"b"), Bounds(), 10) == b"ab"

    @pytest.mark.parametrize("cut", [1, 5, 12, 20])
    def test_cut_files_are_said(self, cut: int) -> None:
        with pytest.raises(TreeError):
            gunzip(gzip.compress(os.urandom(100))[:-cut], Bounds(), 1000)

    def test_bombs_are_stopped_while_reading(self) -> None:
        bomb = gzip.compress(b"\0" * (64 * MIB))
        with pytest.raises(BoundError, match=f"more than {MIB} bytes"):
            gunzip(bomb, Bounds(), 1 * MIB)
        with pytest.raises(BoundError, match="times"):
            gunzip(bomb, Bounds(), 1000 * MIB)

    def test_many_small_members_are_too_many(self) -> None:
        member = gzip.compress(b"x")
        assert gunzip(member * 100, Bounds(), 1000) == b"x" * 100
        with pytest.raises(BoundError, match="gzip members"):
            gunzip(member * 101, Bounds(), 1000)

    def test_other_things_are_no_gzip(self) -> None:
        for content in (b"hello", b"\x1f\x8b", zlib.compress(b"x")):
            with pytest.raises(TreeError):
                gunzip(content, Bounds(), 100)


def test_the_same_runs_from_a_zip_and_from_a_folder(tmp_path: Path) -> None:
    path = tmp_path / "agentlab.zip"
    with zipfile.ZipFile(path, "w") as out:
        for file in sorted(AGENTLAB.rglob("*")):
            if file.is_file():
                out.write(file, f"wrapped/{file.relative_to(AGENTLAB)}")
    with open_runs(AGENTLAB) as folder, open_runs(path) as zipped:
        assert folder.total == zipped.total
        from_folder = {b.content_hash for b in folder if isinstance(b, RunBundle)}
        from_zip = {b.content_hash for b in zipped if isinstance(b, RunBundle)}
    assert from_folder == from_zip


def _cut(content: bytes) -> io.BytesIO:
    """A zip without its end, which lists the members."""
    return io.BytesIO(content[: content.index(b"PK\x01\x02")])


def test_a_cut_zip_gives_no_more_than_it_says() -> None:
    """zlib takes a limit of 0 for none: 64 MiB came out of a member that says it is empty."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as out:
        out.writestr("bomb", b"\0" * (64 * MIB))
    data = bytearray(content.getvalue())
    struct.pack_into("<L", data, 22, 0)  # the size in the member's own header
    tree = open_tree(_cut(bytes(data)), Bounds())
    assert tree.size("bomb") == 0
    assert read_file(tree, "bomb", 100) == b""


def test_a_large_member_that_is_cut_is_no_bomb() -> None:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as out:
        out.writestr("whole", "x")
        out.writestr("cut", os.urandom(8 * MIB))
    tree = open_tree(io.BytesIO(content.getvalue()[: 10 * KIB]), Bounds())
    assert tree.names == ("cut", "whole")
    assert read_file(tree, "whole", 10) == b"x"


def test_a_cut_zip_has_bounded_members_and_problems() -> None:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as out:
        out.writestr("good", "x")
        for number in range(30):
            out.writestr(f"../{number}", "x")
    tree = open_tree(_cut(content.getvalue()), Bounds(problems=5))
    assert (tree.names, len(tree.problems)) == (("good",), 5)
    with pytest.raises(BoundError, match="members"):
        open_tree(_cut(content.getvalue()), Bounds(members=20))


def test_several_formats_in_one_upload(tmp_path: Path) -> None:
    native = io.BytesIO()
    write_zip(native, [run_bundle()])
    path = tmp_path / "both.zip"
    with zipfile.ZipFile(path, "w") as out:
        with zipfile.ZipFile(native) as inner:
            for name in inner.namelist():
                out.writestr(f"native/{name}", inner.read(name))
        for file in next(AGENTLAB.glob("scripted/*multi_on*")).iterdir():
            out.write(file, f"agentlab/run/{file.name}")
    with open_runs(path) as source:
        assert source.formats == ("native", "agentlab")
        assert source.total == 2
        assert all(isinstance(item, RunBundle) for item in source)


def _small_zip() -> bytes:
    out = io.BytesIO()
    write_zip(out, [run_bundle(0, n_steps=1)])
    return out.getvalue()


SMALL_ZIP = _small_zip()


@settings(max_examples=300, deadline=None)
@given(data=st.data())
@pytest.mark.slow
def test_damaged_zips_never_raise(data: st.DataObject) -> None:
    content = bytearray(SMALL_ZIP)
    for _ in range(data.draw(st.integers(1, 6))):
        position = data.draw(st.integers(0, len(content) - 1))
        content[position] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(content)))
    with open_runs(io.BytesIO(bytes(content[:cut] if cut % 2 else content))) as source:
        for found in source:
            if isinstance(found, RunBundle):
                for blob in found.blob_records():
                    found.read_blob(blob.sha256)


def test_a_zip_with_a_nameless_member_is_refused_with_a_reason() -> None:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as out:
        out.writestr("x", "text")
    # The name's length, in the central directory, becomes 0: the name is read as something else.
    data = bytearray(content.getvalue())
    start = data.index(b"PK\x01\x02")
    data[start + 28] = 0
    data[start + 30] = 1  # the byte belongs to the extra field now
    with open_runs(io.BytesIO(bytes(data))) as source:
        found = list(source)
    assert not [item for item in found if isinstance(item, RunBundle)]
    assert [item for item in found if isinstance(item, Rejection)]
