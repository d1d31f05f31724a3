"""Names of the longest kind that occur: their runs are read, and two names stay two."""

import shutil
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.webagent.trajectory.formats import read
from tests.webagent.trajectory.test_completeness import FORMATS
from webagent.trajectory.bundles import RunBundle
from webagent.trajectory.texts import NAME_CHARS, bounded_name

LONGEST_TASK = (
    "workarena.servicenow.filter-three-items-uniform-expenses-find-total-return-and-select-"
    "investments-large-l2"
)
"""The longest of AgentRewardBench's 1,302 trajectories."""
AGENT = "GenericAgent-meta-llama_Llama-3.3-70B-Instruct"
FOLDERS = f"{AGENT}/{AGENT}_on_{LONGEST_TASK}"


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.slow
def test_runs_in_folders_with_the_longest_names_are_read(
    originals: dict[str, Path], tmp_path: Path, name: str
) -> None:
    short = [item for item in read(originals[name]) if isinstance(item, RunBundle)]
    for trial in ("first", "second"):
        # The two differ in the middle of their paths alone.
        shutil.copytree(originals[name], tmp_path / "study" / LONGEST_TASK / trial / FOLDERS)
    found = read(tmp_path / "study")
    runs = [item for item in found if isinstance(item, RunBundle)]
    assert len(runs) == 2 * len(short), found
    if name != "native":  # its runs name themselves
        assert len({run.run.id for run in runs}) == len(runs)


def test_a_trajectory_of_the_benchmark_by_its_real_name(
    originals: dict[str, Path], tmp_path: Path
) -> None:
    """As the data set has it: the agent thrice and the task twice in a path."""
    (source,) = originals["agentrewardbench"].glob("trajectories/cleaned/**/*.json")
    folder = tmp_path / "trajectories" / "cleaned" / "workarena" / AGENT / f"{AGENT}_on_workarena"
    folder.mkdir(parents=True)
    shutil.copy(source, folder / f"{LONGEST_TASK}.json")
    (found,) = read(tmp_path)
    assert isinstance(found, RunBundle), found
    assert found.task.external_id == LONGEST_TASK
    assert len(found.evaluations[0].id) <= NAME_CHARS


@given(first=st.text(max_size=500), second=st.text(max_size=500))
@example(first="a" * 300, second="a" * 299 + "b")
@example(first="a" * 300, second="b" + "a" * 299)
@example(first="a" * 150 + "b" + "a" * 149, second="a" * 300)
def test_bounded_names_are_equal_only_for_equal_names(first: str, second: str) -> None:
    for name in (first, second):
        assert len(bounded_name(name)) <= NAME_CHARS
        if len(name) <= NAME_CHARS and name.isprintable():
            assert bounded_name(name) == name
    if max(len(first), len(second)) > NAME_CHARS:
        assert (bounded_name(first) == bounded_name(second)) == (first == second)
