"""Questions of formats can be translated: their words are the catalogue's."""

from typing import Any

from runs.imports.forms import KNOWN, in_own_words
from webagent.trajectory.online_mind2web.verdicts import QUESTION


def test_every_word_of_a_question_is_in_the_catalogue() -> None:
    asked: dict[str, Any] = {"key": QUESTION.key, "text": QUESTION.text}
    asked |= {"choices": dict(QUESTION.choices), "unanswered": QUESTION.unanswered}
    shown = in_own_words(asked)
    assert shown == asked
    assert {QUESTION.text, *QUESTION.choices.values(), QUESTION.unanswered} == set(KNOWN)
