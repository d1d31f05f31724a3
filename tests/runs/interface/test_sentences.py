"""English sentences of the engine and of stored rows, shown in the reader's language."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from django.utils.translation import override

from runs.catalogue.agents import NotRunnableError, live_agent
from runs.interface.sentences import details_worded, worded
from runs.models import AgentConfiguration
from webagent.environment.interface import UnknownTask
from webagent.environment.registry import task_record
from webagent.trajectory.intake import Rejection
from webagent.trajectory.reading import open_runs, without_formats


@pytest.fixture(autouse=True)
def japanese() -> Iterator[None]:
    with override("ja"):
        yield


def test_an_agent_without_a_model_says_so_in_the_readers_language() -> None:
    agent = AgentConfiguration(name="generic", config={"model": "m"})
    with pytest.raises(NotRunnableError, match="言語モデルが設定されていません"):
        live_agent(agent)


@pytest.mark.parametrize("name", ["nowhere.task", "miniwob.nothing", "miniwob.click-tes"])
def test_a_task_that_is_not_here(name: str) -> None:
    with pytest.raises(UnknownTask) as unknown:
        task_record(name)
    assert worded(str(unknown.value)) != str(unknown.value)
    assert name in worded(str(unknown.value))


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("repaired-2, 3 tasks patched", "repaired-2、パッチを当てたタスク 3"),
        ("any number of runs, 5 bytes", "実行の上限なし、バイト数 5"),
        ("3 runs: a1, b2", "実行 3 件：a1、b2"),
        ("1 runs", "実行 1"),
        ("1 runs: a1", "実行 1 件：a1"),
        ("saw 0 3-4 end answer", "表示した範囲：ステップ 0、3-4、最後、回答"),
        ("saw nothing", "表示した範囲：なし"),
        ("saw 7", "表示した範囲：ステップ 7"),
        ("saw what no page tells", "表示した範囲：what no page tells"),
        ("version 2", "版 2"),
        ("version of mine", "version of mine"),
        ("all verdicts of an audit", "監査のすべての判定"),
        ("entries of an audit of mine", "entries of an audit of mine"),
        ("2 entries", "項目 2"),
        ("2 apples", "2 apples"),
        ("cannot be reached: [Errno 111]\nmore", "cannot be reached: [Errno 111]\nmore"),
        ("", ""),
        (f"command {'x' * 2_000}", f"command {'x' * 2_000}"),
        ("100% sure %(n)s", "100% sure %(n)s"),
    ],
)
def test_details_of_the_audit_log(written: str, shown: str) -> None:
    assert details_worded(written) == shown


@pytest.mark.parametrize(
    "content", [b"", b"garbage", b"{}", b'{"a":', b"1", b"PK\x03\x04 cut", b"[1]"]
)
def test_why_a_file_is_refused(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "sent.zip"
    path.write_bytes(content)
    with open_runs(path) as source:
        (refused,) = source
    assert isinstance(refused, Rejection)
    reason = without_formats(refused.reason)
    assert worded(reason) != reason


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("1 runs, csv", "1 run, csv"),
        ("2 runs", "2 runs"),
        ("1 runs: a1", "1 run: a1"),
        ("1 tasks patched", "1 task patched"),
        ("saw 0 3-4 end answer", "saw steps 0, 3-4, the end, the answer"),
        ("saw 5", "saw step 5"),
    ],
)
def test_details_in_english(written: str, shown: str) -> None:
    with override("en"):
        assert details_worded(written) == shown
