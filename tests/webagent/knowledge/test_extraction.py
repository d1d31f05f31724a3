"""Raw knowledge of one run: of the form, with steps that there are, and with what went wrong."""

import pytest

from tests.webagent.knowledge.logs import copies
from tests.webagent.llm.scripted import Scripted
from webagent.knowledge.web import extract
from webagent.llm.untrusted import BadReply


def entry(ng: str = "The click did nothing.", *steps: int, intent: str = "Open it", ok: str = ""):
    return {"intent": intent, "ok": ok, "ng": ng, "steps": list(steps or (1,))}


def test_entries_come_with_their_steps_and_those_without_ng_are_dropped():
    model = Scripted(
        {"entries": [entry("Nothing changed.", 2, 1, 2), entry(" ", ok="The link."), entry("")]}
    )
    found = extract(model, "m", copies())
    [kept] = found.entries
    assert (kept.run, kept.steps, kept.ng) == ("run-1", (1, 2), "Nothing changed.")
    assert (found.n_without_ng, found.asks) == (2, 1)


def test_the_log_stands_between_marked_lines():
    model = Scripted({"entries": []})
    extract(model, "m", copies())
    assert "<<< log " in model.last
    assert "fill('b42', 'salt road calder')" in model.last
    assert model.requests[0].schema is not None


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"entries": [entry("x", 99)]}, "steps that are not in the log: [99]"),
        ({"entries": [{**entry(), "steps": []}]}, "names no steps"),
        ({"entries": [{**entry(), "intent": " "}]}, "has no intent"),
        ("Sorry, no.", "Invalid JSON"),
        ({"entries": [{"intent": "x"}]}, "entries.0.ok: Field required"),
    ],
)
def test_a_wrong_reply_is_sent_back_with_what_is_wrong(wrong: object, said: str):
    model = Scripted(wrong, {"entries": [entry()]})
    found = extract(model, "m", copies())
    assert len(found.entries) == 1
    assert found.asks == 2
    assert said in model.last


def test_a_model_that_keeps_being_wrong_is_given_up():
    model = Scripted(*["no"] * 3)
    with pytest.raises(BadReply):
        extract(model, "m", copies())
    assert len(model.requests) == 3


def test_a_code_block_around_the_object_is_allowed():
    model = Scripted('```json\n{"entries": []}\n```')
    assert extract(model, "m", copies()).entries == ()
