"""Questions of formats can be translated: their words are the catalogue's."""

from typing import Any

from runs.imports.forms import KNOWN, in_own_words
from webagent.trajectory.formats.agentrewardbench import reader
from webagent.trajectory.formats.online_mind2web import verdicts

QUESTIONS = (verdicts.QUESTION, reader.QUESTION)


def test_every_word_of_a_question_is_in_the_catalogue() -> None:
    words: set[str] = set()
    for question in QUESTIONS:
        asked: dict[str, Any] = {"key": question.key, "text": question.text}
        asked |= {"choices": dict(question.choices), "unanswered": question.unanswered}
        assert in_own_words(asked) == asked
        words |= {question.text, *question.choices.values(), question.unanswered}
    assert words == set(KNOWN)
