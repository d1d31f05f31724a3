"""No function of texts takes more than linear time, whatever the text.

Every function of the project whose parameters can be made from a text is found by its signature.
More than linear work is allowed up to a bound that the function itself keeps.
"""

import re
from functools import cache

import pytest

from tests.linear_time.functions import TextFunction, text_functions
from tests.linear_time.growth import grows_too_fast
from tests.linear_time.hostile import repeated_texts
from tests.linear_time.sources import package_of, packages
from webagent.measures import pieces

pytestmark = pytest.mark.slow

# They are given no text from outside.
OWN_TEXTS = {
    "judging.evaluators.matching.repaired.texts._pattern": "a reference up to LONGEST_ANSWER",
    "runs.operations.error_views._roles_with": "the permissions that a view asks for",
    "webagent.trajectory.formats.webarena.folders._by_ending": "file names of 32 parts at most",
    "judging.analysis.reports.registry.attached": "the name of a file that the page names",
    "judging.analysis.reports.registry.as_picture": "the name of a file that the page names",
    "runs.operations.database_dumps._find": "the name of a program",
    "runs.operations.database_dumps._run": "the name of a program",
}
# They act on what they are given a name of.
ACT = ("register", "on_", "sweep", "_hold", "forget", "drop", "beat", "prepare_")

TEXTS = list(repeated_texts())


@cache
def functions() -> dict[str, TextFunction]:
    return {
        one.name: one
        for one in text_functions()
        if not one.name.rpartition(".")[2].startswith(ACT) and one.name not in OWN_TEXTS
    }


def test_functions_of_texts_are_found():
    assert {
        "webagent.trajectory.actions.parse_browsergym_actions",
        "webagent.trajectory.axtree.parse_axtree",
        "runs.catalogue.tasks.reading.word_diff",
        "judging.studies.protocols.render_markdown",
    } <= functions().keys()
    assert {package_of(name) for name in functions()} <= {*packages()}
    assert OWN_TEXTS.keys() <= {one.name for one in text_functions()}


@pytest.mark.parametrize("package", packages())
def test_functions_of_texts_take_linear_time(package):
    asked = [one for name, one in functions().items() if package_of(name) == package]
    assert not {one.name: slow for one in asked if (slow := too_slow(one))}


@pytest.mark.parametrize(
    "planted",
    [
        re.compile(r"([^\W\d]\w*)\s*\(").search,
        lambda text: [text[place:] for place in range(len(text)) if "a\0" in text[place:]],
        lambda text: "(" in text and [text[place:].split("(") for place in range(len(text))],
    ],
)
def test_more_than_linear_time_is_noticed(planted):
    assert too_slow(TextFunction("planted", planted, ("str",))) is not None


def test_what_one_bound_allows_is_not_noticed():
    bounded = TextFunction("bounded", lambda one, other: pieces(one, other), ("str", "str"))
    assert too_slow(bounded) is None


def too_slow(function: TextFunction) -> str | None:
    for work in function.works():
        work("a b")  # what the first call loads is not measured
        if found := grows_too_fast(work, TEXTS, up_to_a_bound=True):
            return found
    return None
