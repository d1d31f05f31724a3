"""Styles and scripts are collected when one has changed, and not at every start."""

from pathlib import Path

from runs.storage.static_files import collect_static_files


def test_collected_again_only_when_a_source_has_changed(settings, tmp_path: Path) -> None:
    sources, root = tmp_path / "sources", tmp_path / "root"
    sources.mkdir()
    settings.STATICFILES_DIRS, settings.STATIC_ROOT = [sources], root
    settings.STORAGES = {**settings.STORAGES}  # opened anew, at the new root
    (sources / "own.css").write_text("p { color: red }")
    collect_static_files()
    collected = root / "own.css"
    assert collected.read_text() == "p { color: red }"
    collected.unlink()
    collect_static_files()
    assert not collected.exists()
    (sources / "own.css").write_text("p { color: blue }")
    collect_static_files()
    assert collected.read_text() == "p { color: blue }"
