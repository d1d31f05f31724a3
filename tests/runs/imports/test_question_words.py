"""Questions of formats can be translated: their words are the catalogue's."""

from dataclasses import asdict

from django.utils.translation import override

from runs.imports.views import AnswerForm
from runs.interface.sentences import QUESTIONS
from webagent.trajectory.formats.agentrewardbench import reader
from webagent.trajectory.formats.online_mind2web import verdicts

ASKED = (verdicts.QUESTION, reader.QUESTION)


def test_every_word_of_a_question_is_in_the_catalogue() -> None:
    words = {
        word
        for question in ASKED
        for word in (question.text, *question.choices.values(), question.unanswered)
    }
    assert words == set(QUESTIONS)
    with override("ja"):
        shown = str(AnswerForm([asdict(question) for question in ASKED]))
    assert not [word for word in words if word in shown]
