"""Evaluators against each annotator, beside the annotators against each other: the ceiling."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from django.db.models import Case, F, When
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from judging.analysis.audits.comparing.evaluators import DECIDED, MOST_SOURCES, Joint, joint_counts
from judging.analysis.audits.people.questions import told_labels
from judging.analysis.audits.population import counted_items
from judging.analysis.audits.selection import differing
from judging.analysis.audits.verdict_sources import VerdictSource, VerdictSources
from judging.analysis.counting import tally
from judging.analysis.pictures import IntervalRow, Meaning, interval_picture
from judging.models import Study
from judging.models.labels import Success
from judging.statistics.confusion import Cell, ConfusionMatrix, cell, intervals_by_task
from judging.statistics.figures import Interval, Undefined

Verdicts = Counter[tuple[int, bool, bool | None]]
"""Runs by task, what an annotator said, and what another source said."""


class Against:
    """One source held against an annotator, over the runs on which both say success or failure.

    They agree on the share of these runs that is the accuracy of `matrix`. Of an evaluator they are
    counted runs. Of a person they are all whose labels are told, for runs that are still in dispute
    are just those on which people differ.

    Args:
        unlisted: runs on which they differ that do not count, so that no list of an audit has them.
    """

    def __init__(
        self,
        source: VerdictSource,
        annotator: VerdictSource,
        said: Verdicts,
        seed: int,
        unlisted: int = 0,
    ) -> None:
        by_task: defaultdict[int, Counter[Cell]] = defaultdict(Counter)
        for (task, truth, passed), n in said.items():
            by_task[task][cell(truth, passed)] += n
        self.source, self.annotator, self.unlisted = source, annotator, unlisted
        self.matrix = ConfusionMatrix.counted(sum(by_task.values(), Counter()))
        if isinstance(self.matrix.kappa, Undefined):
            self.kappa_interval: Interval | Undefined = self.matrix.kappa
        else:
            decided = [counts for counts in by_task.values() if any(c.has_verdict for c in +counts)]
            tasks = np.array([[counts[each] for each in Cell] for counts in decided], dtype=float)
            self.kappa_interval = intervals_by_task(tasks, ("kappa",), seed=seed)["kappa"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ceiling:
    """How well people agree with each other, and evaluators with them."""

    annotators: Sequence[VerdictSource]
    people: Sequence[Against]
    """Each pair of annotators once."""
    evaluators: Mapping[str, Sequence[Against]]
    """By key of the evaluator in order, against each annotator in order."""

    @property
    def all(self) -> list[tuple[Meaning, Against]]:
        """Annotators first, then evaluators."""
        found: list[tuple[Meaning, Against]] = [("people", each) for each in self.people]
        return found + [("evaluator", each) for row in self.evaluators.values() for each in row]


def ceiling_of(sources: VerdictSources) -> Ceiling:
    """The ceiling of a study, in one query for each annotator and one for all pairs."""
    study, evaluators = sources.study, sources.speaking[:MOST_SOURCES]
    seed = study.sample_seed
    both = _labelled_by_both(study)
    people: list[Against] = []
    by_evaluator: dict[str, list[Against]] = {source.key: [] for source in evaluators}
    for place, annotator in enumerate(sources.annotators):
        counts = joint_counts(
            study, [annotator, *evaluators], per_task=True, labelled_by=annotator.annotator
        )
        for number, source in enumerate(evaluators, start=1):
            said = _verdicts(counts, number)
            by_evaluator[source.key].append(Against(source, annotator, said, seed))
        for source in sources.annotators[place + 1 :][:MOST_SOURCES]:
            if shared := both.get((annotator.key, source.key)):
                people.append(Against(source, annotator, shared.said, seed, shared.unlisted))
    return Ceiling(annotators=sources.annotators, people=people, evaluators=by_evaluator)


def _verdicts(counts: Sequence[Joint], source: int) -> Verdicts:
    """A source of counts `per_task` beside their first, an annotator."""
    said: Verdicts = Counter()
    for each in counts:
        if each.task is not None and (truth := each.said[0]) is not None:
            said[each.task, truth, each.said[source]] += each.runs
    return said


@dataclass(slots=True)
class _Both:
    """What two annotators said of the runs that both labelled, and how many of those on which they
    differ do not count.
    """

    said: Verdicts = field(default_factory=Counter)
    unlisted: int = 0


def _labelled_by_both(study: Study) -> Mapping[tuple[str, str], _Both]:
    """What pairs of annotators, by their keys, said of the runs that both labelled. One query."""
    found: defaultdict[tuple[str, str], _Both] = defaultdict(_Both)
    labels = told_labels(study).filter(is_repeat=False, success__in=DECIDED)
    counts = When(item__in=counted_items(study).values("pk"), then=True)
    labels = labels.annotate(counts=Case(counts, default=False)).filter(
        item__labels__is_repeat=False,
        item__labels__success__in=DECIDED,
        item__labels__annotator__gt=F("annotator"),
    )
    columns = ("item__labels__annotator", "item__run__task", "success", "item__labels__success")
    rows = tally(labels, "counts", "annotator", *columns)
    for (is_counted, one, other, task, said, answer), n in rows.items():
        first, second = said == Success.SUCCESS, answer == Success.SUCCESS
        here, there = found[f"u{one}", f"u{other}"], found[f"u{other}", f"u{one}"]
        here.said[task, first, second] += n
        there.said[task, second, first] += n
        for each in (here, there):
            each.unlisted += n * (first != second and not is_counted)
    return found


MOST_DRAWN = 40


def ceiling_picture(study: Study, ceiling: Ceiling) -> SafeString:
    """How often each evaluator agrees with each annotator, and they with each other."""
    rows = [_row(study, each, meaning) for meaning, each in ceiling.all]
    label = _("How often do evaluators agree with people, and people with each other?")
    return interval_picture(rows[:MOST_DRAWN], label=label, meaning="evaluator")


def _row(study: Study, against: Against, meaning: Meaning) -> IntervalRow:
    runs = differing(study, against.matrix.wrong, against.annotator, against.source)
    name = f"{against.source.shown} · {against.annotator.name}"
    return IntervalRow(
        name,
        against.matrix.accuracy.value,
        against.matrix.accuracy.interval,
        url=runs.url,
        title=_("%(name)s: %(n)s runs on which they differ") % {"name": name, "n": runs.value},
        meaning=meaning,
    )
