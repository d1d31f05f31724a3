"""No reader takes more than linear time: many steps, many runs, long texts, deep values, digits.

A sample of each format is grown in memory and read as an import reads it, down to every blob.
"""

import re

import pytest

from tests.linear_time import grown
from tests.linear_time.growth import Sizes, size_grows_too_fast
from tests.webagent.trajectory.formats import runs
from tests.webagent.trajectory.mutations import samples
from webagent.trajectory.bundles import RunBundle
from webagent.trajectory.formats.native.writer import write_folder
from webagent.trajectory.intake import Problem
from webagent.trajectory.reading import READERS
from webagent.trajectory.records import StepRecord

pytestmark = pytest.mark.slow

UNTIED = "playwright_trace_untied"
"""Nothing in it ties its clock to the time of day."""
FORMATS = (
    "agentlab", "agentrewardbench", "atif", "browser_use", "browser_use_embedded", "computer_use",
    "inspect_ai", "native", "online_mind2web_v1", "online_mind2web_v2", "playwright_trace", UNTIED,
    "webarena", "webarena_verified", "webvoyager", "wonderbread",
)  # fmt: skip
# Their texts lie in pickles, which `test_structures` grows by themselves.
WITHOUT_FREE_TEXTS = {"agentlab"}
_WALL_TIME = re.compile(rb',"wallTime":\d+(?=,"(?:before|page))')
STEPS = Sizes(50, 400)
# A step of theirs costs much besides what its frames cost, which hides how those grow.
MANY_STEPS = Sizes(300, 2_400)
RUNS = Sizes(3, 24)
CHARACTERS = Sizes(2_500, 20_000)
UNITS = ("a", " ", "1", "(", "\\'", "\t[1] a 'x'\n")
LONGEST = 200_000
DIGITS = ("9" * LONGEST, f'"{"9" * LONGEST}"', "1e999999999", '"1e999999999"', '"1e-999999999"')


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folders = samples(tmp_path_factory.mktemp("grown"))
    assert {*folders, UNTIED} == set(FORMATS)
    found = {name: grown.loaded(folder) for name, folder in folders.items()}
    traces = found["playwright_trace"].items()
    found[UNTIED] = {name: _WALL_TIME.sub(b"", content) for name, content in traces}
    return found


def test_every_reader_is_given_a_sample(files):
    recognised = {name for given in files.values() for name in grown.formats(given)}
    assert recognised == {reader.name for reader in READERS}


@pytest.mark.parametrize("name", FORMATS)
def test_many_steps_take_linear_time(files, name, tmp_path):
    def make(size: int) -> grown.Files:
        if name != "native":
            return grown.with_more_steps(files[name], size)
        folder = tmp_path / str(size)
        source = tmp_path / f"source-{size}"
        for path, content in grown.with_more_steps(files["browser_use"], size).items():
            (source / path).parent.mkdir(parents=True, exist_ok=True)
            (source / path).write_bytes(content)
        write_folder(folder, list(runs(source).values()))
        return grown.loaded(folder)

    few, many = (_steps(make(size)) for size in (4, 40))
    assert many >= 4 * few
    sizes = MANY_STEPS if name == UNTIED else STEPS
    assert size_grows_too_fast(grown.read_all, make, sizes) is None


@pytest.mark.parametrize("name", FORMATS)
def test_many_runs_take_linear_time(files, name):
    def make(size: int) -> grown.Files:
        return grown.with_more_runs(files[name], size)

    assert len(_runs(grown.read_all(make(3)))) == 3 * len(_runs(grown.read_all(files[name])))
    assert size_grows_too_fast(grown.read_all, make, RUNS) is None


@pytest.mark.parametrize("name", [name for name in FORMATS if name not in WITHOUT_FREE_TEXTS])
def test_long_texts_take_linear_time(files, name):
    is_read = False
    for unit in UNITS:

        def make(size: int, unit: str = unit) -> grown.Files:
            return grown.with_longer_texts(files[name], unit * (size // len(unit)))

        is_read = is_read or bool(_runs(grown.read_all(make(CHARACTERS.short))))
        assert size_grows_too_fast(grown.read_all, make, CHARACTERS) is None, unit
    assert is_read


@pytest.mark.parametrize("name", FORMATS)
def test_depth_and_digits_are_read_or_refused_in_words(files, name):
    nested = [opening * (LONGEST // 2) + closing * (LONGEST // 2) for opening, closing in ("[]",)]
    for raw, chosen in (
        *((raw, grown.is_free_text) for raw in (*nested, '{"a":' * 50_000 + "1" + "}" * 50_000)),
        *((raw, grown.is_number) for raw in DIGITS),
    ):
        for given in (
            grown.with_other_values(files[name], raw, chosen),
            {path: raw.encode() for path in files[name]},
        ):
            found = grown.read_all(given)
            assert found
            assert not [one for one in found if isinstance(one, Problem) and _unexpected(one)]


@pytest.mark.parametrize(
    "planted",
    [
        lambda given: [item for item in given if given.index(item) < 0],
        lambda given: [len(given[place:]) for place in range(len(given))],
    ],
)
def test_more_than_linear_time_is_noticed(planted):
    sizes = Sizes(1_250, 20_000)
    assert size_grows_too_fast(planted, lambda n: [*range(n)], sizes) is not None


def _unexpected(problem: Problem) -> bool:
    return "unexpected" in problem.reason


def _runs(found: list[RunBundle | Problem]) -> list[RunBundle]:
    return [item for item in found if isinstance(item, RunBundle)]


def _steps(files: grown.Files) -> int:
    read = _runs(grown.read_all(files))
    return sum(isinstance(record, StepRecord) for run in read for record in run.records())
