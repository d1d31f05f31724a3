"""What no database and no page can hold is refused, whichever reader let it pass."""

from dataclasses import replace

import pytest

from tests.webagent.trajectory.samples import run_bundle
from webagent.trajectory.assembling import model_names
from webagent.trajectory.bounds import Bounds
from webagent.trajectory.reading import why_refused


@pytest.mark.parametrize("text", ["half \udfff", "nul \0"])
def test_texts_that_nothing_holds(text):
    bundle = run_bundle(1)
    assert why_refused(bundle, Bounds()) is None
    bad = replace(bundle, run=bundle.run.model_copy(update={"models": (text,)}))
    refused = why_refused(bad, Bounds())
    assert refused is not None
    assert (refused.field, refused.reason) == ("models", "holds a NUL or half a character")


def test_names_of_models_are_storable():
    assert model_names(["a\udfff", None, "", "a\udfff", "b"]) == ("a\ufffd", "b")
