"""Evaluators against each annotator, beside the annotators against each other: the ceiling; and
detectors of loops and false completions against what people say of the same runs.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from django.db import models
from django.db.models import Case, F, When
from django.db.models.fields.json import KT
from django.utils.functional import Promise
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from judging.analysis.audits.comparing.evaluators import DECIDED, MOST_SOURCES, Joint, joint_counts
from judging.analysis.audits.people.questions import told_labels
from judging.analysis.audits.population import counted_items
from judging.analysis.audits.verdict_sources import VerdictSource, VerdictSources
from judging.analysis.counting import tally
from judging.analysis.pictures import Meaning
from judging.models import Label, Study, Success
from judging.statistics.confusion import Cell, ConfusionMatrix, cell, intervals_by_task
from judging.statistics.figures import Interval, Reason, Share, Undefined
from judging.studies.protocols import anomaly_meant, cause_choices
from runs.models import Event
from runs.viewer.run_list.filters import ANOMALIES

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


KINDS: Mapping[str, Promise] = {
    Event.Kind.LOOP.value: _("loop"),
    Event.Kind.FALSE_COMPLETION.value: _("false completion"),
}
OWN, ANY = "own", "any"
_YES, _NO = frozenset({"yes", "y", "true", "1"}), frozenset({"no", "n", "false", "0"})
"""How a label from elsewhere says that the agent looped, or did not: its first word."""


class DetectorCell(models.TextChoices):
    """What the detector did with a run, and what people say of it."""

    MARKED_SEEN = "marked-seen", _("marked, and people see it")
    MARKED_UNSEEN = "marked-unseen", _("marked, and people do not see it")
    UNMARKED_SEEN = "unmarked-seen", _("not marked, and people see it")
    UNMARKED_UNSEEN = "unmarked-unseen", _("not marked, and people do not see it")
    DIVIDED = "divided", _("people are divided")


@dataclass(frozen=True, slots=True, kw_only=True)
class Detector:
    """One detector of one kind of anomaly, over the runs of which people say something."""

    kind: str
    key: str
    """`own` for what runs noticed themselves, `any` for all marks, or the detector's name."""
    items: Mapping[DetectorCell, Sequence[int]]

    @property
    def name(self) -> str:
        return {OWN: gettext("the run"), ANY: gettext("any of these")}.get(self.key, self.key)

    def n(self, cell: DetectorCell) -> int:
        return len(self.items.get(cell, ()))

    @property
    def precision(self) -> Share:
        """Of the runs that it marks, those in which people see it too."""
        seen = self.n(DetectorCell.MARKED_SEEN)
        return Share(seen, seen + self.n(DetectorCell.MARKED_UNSEEN), Reason.NOTHING_MARKED)

    @property
    def recall(self) -> Share:
        """Of the runs in which people see it, those that it marks."""
        seen = self.n(DetectorCell.MARKED_SEEN)
        return Share(seen, seen + self.n(DetectorCell.UNMARKED_SEEN), Reason.NOTHING_SEEN)


def detectors_of(study: Study) -> dict[tuple[str, str], Detector]:
    """The detectors against people by anomaly and key, in two queries."""
    words = _words(study)
    marks = _marks(study) if words else {}
    names = sorted({detector for _, detector in marks})
    return {
        (kind, key): _detector(kind, key, said, marks)
        for kind, said in words.items()
        for key in ([*names, ANY] if len(names) > 1 else names or [ANY])
    }


def causes_meant(study: Study) -> list[tuple[Promise, list[str]]]:
    """Of each anomaly in words the names of the study's causes that mean it."""
    causes = _causes(study)
    return [(words, list(causes.get(kind, {}).values())) for kind, words in KINDS.items()]


def _causes(study: Study) -> dict[str, dict[str, str]]:
    """The study's causes, names by key, by the anomaly that they mean."""
    found: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for cause in study.taxonomy:
        if kind := anomaly_meant(cause):
            found[kind].update(cause_choices([cause]))
    return dict(found)


def _words(study: Study) -> dict[str, dict[int, Counter[bool]]]:
    """By anomaly and item: how many people say that it is there, and that it is not.

    A label of failure says so by its causes, where the study offers one that means the anomaly;
    a label from elsewhere by its word on looping. All others say nothing of it.
    """
    causes = _causes(study)
    labels = (
        Label.objects.filter(item__study=study, is_repeat=False)
        .annotate(looping=KT("extra__record__looping"))
        .values_list("item", "success", "causes", "looping")
    )
    found: defaultdict[str, defaultdict[int, Counter[bool]]] = defaultdict(
        lambda: defaultdict(Counter)
    )
    for item, success, named, looping in labels:
        for kind in KINDS:
            word = _looping(looping) if kind == Event.Kind.LOOP else None
            if word is None and success == Success.FAILURE and kind in causes:
                word = not causes[kind].keys().isdisjoint(named)
            elif word is None and kind in map(_meant, named):
                # A cause that came in with the label and stands in no taxonomy here.
                word = True
            if word is not None:
                found[kind][item][word] += 1
    return {kind: dict(items) for kind, items in found.items()}


def _meant(cause: object) -> str | None:
    return anomaly_meant({"key": str(cause), "name": ""})


def _looping(said: str | None) -> bool | None:
    words = re.findall(r"\w+", (said or "").lower())
    if not words or words[0] not in _YES | _NO:
        return None
    return words[0] in _YES


def _marks(study: Study) -> dict[tuple[str, str], set[int]]:
    """Items by the kind of mark and who made it."""
    in_study = Event.objects.filter(run__study_items__study=study, kind__in=ANOMALIES)
    rows = in_study.values_list("kind", "detector", "run__study_items")
    found: defaultdict[tuple[str, str], set[int]] = defaultdict(set)
    for kind, detector, item in rows.distinct():
        found[kind, detector or OWN].add(item)
    return dict(found)


def _detector(
    kind: str,
    key: str,
    words: Mapping[int, Counter[bool]],
    marks: Mapping[tuple[str, str], set[int]],
) -> Detector:
    marked: set[int] = set()
    for (of_kind, detector), items in marks.items():
        if of_kind == kind and key in (ANY, detector):
            marked |= items
    cells: defaultdict[DetectorCell, list[int]] = defaultdict(list)
    for item, said in words.items():
        cells[_cell(item in marked, said)].append(item)
    return Detector(kind=kind, key=key, items=dict(cells))


def _cell(is_marked: bool, said: Counter[bool]) -> DetectorCell:
    if said[True] and said[False]:
        return DetectorCell.DIVIDED
    if said[True]:
        return DetectorCell.MARKED_SEEN if is_marked else DetectorCell.UNMARKED_SEEN
    return DetectorCell.MARKED_UNSEEN if is_marked else DetectorCell.UNMARKED_UNSEEN
