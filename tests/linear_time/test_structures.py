"""What reads, searches, compares or ranks other things than texts takes linear time too.

Every public function with such a name is covered: as a function of texts, by the readers, by a
hostile value in `structures`, or because it is given rows or files of this installation alone.
"""

import inspect
import re
from collections.abc import Callable, Iterator
from contextlib import suppress

import pytest
from django import forms

from tests.linear_time.functions import text_functions
from tests.linear_time.growth import Hostile, Sizes, grows_too_fast, size_grows_too_fast
from tests.linear_time.sources import modules
from tests.linear_time.structures import WORKS
from webagent import measures

pytestmark = pytest.mark.slow

READS = re.compile(r"(?:parse|read|search|rank|detect|find|align|match)(?:_\w+)?")
# Parts of readers, which are tried as a whole on files that grow.
READERS = "webagent.trajectory."
# What a page, a command or a file of this installation is about: rows, forms, options, its files.
OF_THIS_INSTALLATION = re.compile(
    r"Path|\bUser\b|Request|QueryDict|Mapping\[str, str\]|Study\b|Side\b|Contestant|Observation\b"
    r"|BlobReport|\bBlob\b|TaskRef|EvaluatorVersion|TextIO|JudgeKind"
)
# They take a form, an action space or values that are bounded before.
BOUNDED = {
    "judging.studies.labels.forms.read_seen": "5,000 letters at most",
    "webagent.agents.generic.action_space.read_action": "a model's reply, of few tokens",
    "webagent.agents.generic.request.read_reply": "a model's reply, of few tokens",
    "webagent.environment.browser.find_chromium": "settings of this installation",
    "webagent.agents.screen.reply.read_reply": "a model's reply, of few tokens",
    "webagent.llm.anthropic_messages.read": "one document, read by pydantic",
    "webagent.llm.openai_messages.read_chat": "one document, read by pydantic",
    "webagent.llm.openai_messages.read_response": "one document, read by pydantic",
    "webagent.llm.wire.read_shape": "one document, read by pydantic",
    "webagent.milestones.findings.find_milestones": "100 milestones at most",
    "judging.evaluators.matching.specification.read_reference": "keys of a task's specification",
    "judging.evaluators.answer_judges.read_replies": "a list of pieces, each looked at once",
    "webagent.llm.untrusted.read_json": "a judge's reply, of few tokens",
    "judging.evaluators.matching.repaired.mentions.find_mentions": "an answer of bounded length",
    "runs.api.bodies.read_json": "one document, read by pydantic",
}
SIZES = Sizes(500, 4_000)
# Beyond the bound up to which sequences are compared, which is lowered for them.
LARGE = Sizes(2_500, 20_000)
LOWER_BOUND = 100_000
TEXTS = [Hostile("", unit, "") for unit in ("a", "1", " ", "1,", "1e", "-", "\0", "é", "[", "0.")]


def test_everything_that_reads_is_covered():
    covered = {one.name for one in text_functions()} | BOUNDED.keys()
    covered |= {f"{one.__module__}.{one.__name__}" for one, _ in WORKS.values()}
    assert not {
        name
        for name, signature in _that_read()
        if name not in covered
        and not name.startswith(READERS)
        and not (OF_THIS_INSTALLATION.search(signature) or signature.startswith("()"))
    }


def test_what_is_listed_is_there():
    assert BOUNDED.keys() <= {name for name, _ in _that_read()}


@pytest.mark.parametrize("name", WORKS)
def test_it_takes_linear_time(name, monkeypatch):
    _, make = WORKS[name]
    make(3)()  # what the first call loads is not measured
    if size_grows_too_fast(_call, make, SIZES):
        monkeypatch.setattr(measures, "MOST_PAIRS", LOWER_BOUND)
        assert size_grows_too_fast(_call, make, LARGE) is None


def _fields() -> dict[str, forms.Field]:
    """One field of every kind that the project's forms are made of."""
    return {
        type(field).__name__: field
        for module in modules()
        for form in vars(module).values()
        if isinstance(form, type) and issubclass(form, forms.BaseForm)
        for field in getattr(form, "base_fields", {}).values()
    }


def test_fields_of_forms_take_linear_time():
    too_slow = {}
    for name, field in _fields().items():

        def clean(text: str, field: forms.Field = field) -> None:
            with suppress(Exception):  # refused in whatever words; its work counts
                field.clean(text)

        if found := grows_too_fast(clean, TEXTS, up_to_a_bound=True):
            too_slow[name] = found
    assert not too_slow


def _call(work: Callable[[], object]) -> object:
    return work()


def _that_read() -> Iterator[tuple[str, str]]:
    for module in modules():
        for name, function in sorted(vars(module).items()):
            own = inspect.isfunction(function) and function.__module__ == module.__name__
            if own and READS.fullmatch(name):
                yield f"{module.__name__}.{name}", str(inspect.signature(function))
