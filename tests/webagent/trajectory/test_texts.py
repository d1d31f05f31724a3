"""Text from outside: its encoding, and what stands in quotation marks in it."""

import codecs
import json
import shutil
from pathlib import Path

import pytest

from tests.webagent.trajectory.formats import read, rejections
from webagent.trajectory.bundles import RunBundle
from webagent.trajectory.texts import EncodingError, decoded, legible, quoted

DOCUMENTS = {
    "agentlab": "summary_info.json",
    "agentrewardbench": "cleaned/**/*.json",
    "atif": "trajectory.json",
    "browser_use": "history.json",
    "computer_use": "*.json",
    "inspect_ai": "run/samples/*.json",
    "online_mind2web_v1": "result.json",
    "online_mind2web_v2": "result.json",
    "webarena_verified": "eval_result.json",
    "webvoyager": "interact_messages.json",
    "wonderbread": "104 *.json",
}
WIDE = ("utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-8-sig")
JAPANESE = "\u3053\u306e\u672c\u306e\u4fa1\u683c\u306f?"
FRENCH = "o\u00f9 est le caf\u00e9 d\u00e9j\u00e0 vu"
PLACE = "words that are put in"
NARROW = (
    ("cp932", "Shift-JIS", JAPANESE),
    ("euc_jp", "EUC-JP", JAPANESE),
    ("latin-1", "Latin-1", FRENCH),
)


def in_other(folder: Path, pattern: str, encoding: str, words: str = "") -> None:
    """Spell the documents in another encoding, with these words as one more key."""
    for path in sorted(folder.rglob(pattern)):
        value = json.loads(path.read_text())
        if words:
            (value if isinstance(value, dict) else value[0])[PLACE] = PLACE
        spelled = json.dumps(value, ensure_ascii=bool(words)).replace(PLACE, words or PLACE)
        path.write_bytes(spelled.encode(encoding))


@pytest.mark.parametrize("encoding", WIDE)
@pytest.mark.parametrize("name", DOCUMENTS)
@pytest.mark.slow
def test_wide_text_reads_as_utf_8_does(
    originals: dict[str, Path], tmp_path: Path, name: str, encoding: str
) -> None:
    folder = shutil.copytree(originals[name], tmp_path / originals[name].name)
    in_other(folder, DOCUMENTS[name], "utf-8")
    expected = [item.content_hash for item in read(folder) if isinstance(item, RunBundle)]
    in_other(folder, DOCUMENTS[name], encoding)
    found = [item.content_hash for item in read(folder) if isinstance(item, RunBundle)]
    if (name, encoding) == ("agentlab", "utf-8-sig"):  # kept as it is, mark and all
        assert len(found) == len(expected)
    else:
        assert found == expected != []


@pytest.mark.parametrize(("encoding", "shown", "words"), NARROW)
@pytest.mark.parametrize("name", DOCUMENTS)
def test_other_text_is_refused_by_its_name(
    originals: dict[str, Path], tmp_path: Path, name: str, encoding: str, shown: str, words: str
) -> None:
    folder = shutil.copytree(originals[name], tmp_path / originals[name].name)
    in_other(folder, DOCUMENTS[name], encoding, words)
    told = []
    for item in read(folder):
        told += [gap.why for gap in item.run.gaps] if isinstance(item, RunBundle) else [item.reason]
    assert any(shown in why for why in told), told


@pytest.mark.parametrize(("encoding", "shown", "words"), NARROW)
def test_a_lone_document_is_refused_by_its_encoding(
    tmp_path: Path, encoding: str, shown: str, words: str
) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(json.dumps({"schema_version": words}, ensure_ascii=False).encode(encoding))
    (refused,) = rejections(path)
    assert shown in refused.reason


@pytest.mark.parametrize("content", [b"null", b"42", b'"words"', b" true\n", "42".encode("utf-16")])
def test_json_that_is_no_object_is_called_so(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.json").write_bytes(content)
    (refused,) = rejections(tmp_path / "a.json")
    assert refused.reason == "not a JSON object"


def test_what_is_no_json_is_called_so(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(b"Hello.")
    (refused,) = rejections(tmp_path / "a.json")
    assert refused.reason == "neither a readable zip nor JSON"


def test_half_a_wide_letter_is_damage() -> None:
    with pytest.raises(EncodingError, match="UTF-16"):
        decoded(codecs.BOM_UTF16_LE + b"{")
    words, why = legible("caf\u00e9".encode("latin-1"))
    assert words == "caf\ufffd"
    assert "Latin-1" in why


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('Click "OK", then "Don\'t save".', ["OK", "Don't save"]),
        ("The user's list 'Ann's books', not Bob's.", ["Ann's books"]),
        ("Call `save`, open «Datei» or ‘Ann’s books’.", ["save", "Datei", "Ann’s books"]),
        ("“He said 'no'” and 'yes'", ["He said 'no'", "yes"]),
        ("「保存」と『削除』", ["保存", "削除"]),
        # Scripts without blanks have letters right beside the marks.
        ("ボタン\"OK\"と'保存'を、'削除'も押す", ["OK", "保存", "削除"]),
        ('버튼 "저장"을 누르세요', ["저장"]),
        ('A 5" disk and a 7" one', []),
        ('A mark " that\nnobody " closes', []),
        (f'"{"x" * 201}"', []),
        ('""', []),
    ],
)
def test_quotations(text: str, found: list[str]) -> None:
    assert quoted(text) == found
