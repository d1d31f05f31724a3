"""The human ceiling: evaluators against each annotator, beside the annotators themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from judging.audits.joint import MOST_VOICES, Joint, joint_counts, matrix_between, tasks_between
from judging.audits.voices import Voice, Voices
from judging.models import Study
from judging.statistics.confusion import ConfusionMatrix
from judging.statistics.evaluator_intervals import evaluator_intervals
from judging.statistics.figures import Figure, Interval, Undefined
from judging.statistics.proportions import Share


@dataclass(frozen=True, slots=True, kw_only=True)
class Against:
    """One voice held against an annotator, over the runs on which both say success or failure."""

    voice: Voice
    annotator: Voice
    matrix: ConfusionMatrix
    kappa_interval: Interval | Undefined

    @property
    def agreement(self) -> Share:
        """Share of these runs on which they say the same."""
        return self.matrix.accuracy

    @property
    def kappa(self) -> Figure:
        return self.matrix.kappa

    @property
    def runs(self) -> int:
        return self.matrix.decided

    @property
    def differing(self) -> int:
        return self.matrix.fn + self.matrix.fp


@dataclass(frozen=True, slots=True, kw_only=True)
class Ceiling:
    """How well people agree with each other, and evaluators with them."""

    annotators: Sequence[Voice]
    people: Sequence[Against]
    """Each pair of annotators once."""
    evaluators: Mapping[str, Sequence[Against]]
    """By key of the evaluator, against each annotator in order."""
    shown: Sequence[Voice]
    """The evaluators, in order."""


def ceiling_of(study: Study, voices: Voices) -> Ceiling:
    """The ceiling of a study, in one query for each annotator."""
    evaluators = voices.evaluators[:MOST_VOICES]
    people: list[Against] = []
    by_evaluator: dict[str, list[Against]] = {voice.key: [] for voice in evaluators}
    for place, annotator in enumerate(voices.annotators):
        others = [*voices.annotators[place + 1 :][:MOST_VOICES], *evaluators]
        counts = [
            each
            for each in joint_counts(study, [annotator, *others], per_task=True)
            if each.said[0] is not None
        ]
        for number, voice in enumerate(others, start=1):
            found = _against(counts, annotator, voice, number, study.pk)
            if voice.annotator is None:
                by_evaluator[voice.key].append(found)
            elif found.runs:
                people.append(found)
    return Ceiling(
        annotators=voices.annotators, people=people, evaluators=by_evaluator, shown=evaluators
    )


def _against(
    counts: Sequence[Joint], annotator: Voice, voice: Voice, number: int, seed: int
) -> Against:
    matrix = matrix_between(counts, 0, number)
    kappa: Interval | Undefined
    if isinstance(matrix.kappa, Undefined):
        kappa = matrix.kappa
    else:
        tasks = tasks_between(counts, 0, number)
        kappa = evaluator_intervals(tasks, ("kappa",), seed=seed)["kappa"]
    return Against(voice=voice, annotator=annotator, matrix=matrix, kappa_interval=kappa)
