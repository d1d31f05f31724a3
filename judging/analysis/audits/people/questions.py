"""What annotators were asked of a run, and how each answered: one row a thing that is rated."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from django.db.models import F, Q, QuerySet
from django.db.models.fields.json import KT
from django.utils.functional import Promise
from django.utils.text import capfirst
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from judging.models import Label, MilestoneTick, Study, StudyItem
from judging.models.labels import Success
from judging.studies.protocols import cause_choices

SUCCESS = "success"
UNSURE = Success.UNSURE.value
YES, NO = "yes", "no"
YES_NO = (YES, NO)
IMPORTED: Mapping[str, tuple[str, ...]] = {
    "side_effect": (*YES_NO, UNSURE),
    "optimality": ("1", "2", "3", "4", UNSURE),
    "looping": (*YES_NO, UNSURE),
}
"""Questions that labels from elsewhere may answer, with the answers that they offer."""
_NAMES: Mapping[str, Promise] = {
    SUCCESS: capfirst(_("success")),
    "side_effect": _("Side effects"),
    "optimality": _("Optimality"),
    "looping": capfirst(_("loop")),
    "failure_step": _("Failed at step"),
    "milestones": capfirst(_("milestones")),
}
_CAUSE, _FURTHER = "cause:", "answer:"
_ORDER = (*_NAMES, _CAUSE, _FURTHER)
Row = dict[str, Any]
"""A label by the names of `_rows`."""
MOST = 20
"""So many causes, the most frequent ones, and further answers of a label are questions."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question by its key, its name for people, and the answers that could be given."""

    key: str
    name: str
    categories: tuple[str, ...]
    """Known ones in their usual order, then others that occur; AC1 counts on them."""

    def without(self, category: str) -> Question:
        """The same question where that is no answer."""
        return replace(self, categories=tuple(each for each in self.categories if each != category))


@dataclass(frozen=True, slots=True)
class Answer:
    """What one annotator said of one thing: a run, or a milestone of it."""

    question: str
    item: int
    thing: int
    task: int
    annotator: str
    said: str
    is_repeat: bool
    place: int
    """Of the label among those of its run, in the order in which they were given, from 1."""


def told_labels(study: Study) -> QuerySet[Label]:
    """The labels of a study that are no secret any more, whether their runs are settled or not.

    While a study is open, a run's labels are secret until it has all of them.
    """
    open_run = Q(item__study__is_open=True, item__status=StudyItem.Status.OPEN)
    return Label.objects.filter(item__study=study).exclude(open_run)


def answers_of(study: Study) -> list[Answer]:
    """All answers of the labels told, in two queries."""
    labels = told_labels(study)
    rows = list(_rows(labels))
    places = _places(rows)
    causes = Counter(str(cause) for row in rows for cause in row["causes"])
    named = [cause for cause, _n in causes.most_common(MOST)]
    found = [answer for row in rows for answer in _of_label(row, places[row["pk"]], named)]
    ticks = (
        MilestoneTick.objects.filter(label__in=labels.order_by())
        .order_by("label__item__position", "milestone__position", "milestone")
        .values_list(
            "label",
            "label__item",
            "label__item__run__task",
            "label__annotator__username",
            "label__is_repeat",
            "milestone",
            "achieved",
        )
    )
    found += [
        Answer(
            *("milestones", item, milestone, task, name, YES if reached else NO, again),
            places[label],
        )
        for label, item, task, name, again, milestone, reached in ticks
    ]
    return found


def _places(rows: Iterable[Row]) -> dict[UUID, int]:
    """The place of each label among those of its run; a hidden repeat has that of nobody."""
    first = [row for row in rows if not row["is_repeat"]]
    first.sort(key=lambda row: (row["item"], row["submitted_at"], str(row["pk"])))
    places: defaultdict[UUID, int] = defaultdict(int)
    seen: Counter[int] = Counter()
    for row in first:
        seen[row["item"]] += 1
        places[row["pk"]] = seen[row["item"]]
    return places


def _rows(labels: QuerySet[Label]) -> QuerySet[Label, Row]:
    record = "extra__record__"
    rows: QuerySet[Label, Row] = labels.order_by("item__position", "annotator__username").values(
        *("pk", "submitted_at", "item", "is_repeat", "success", "causes", "failure_step"),
        task=F("item__run__task"),
        name=F("annotator__username"),
        further=F(f"{record}extra__answers"),
        **{key: KT(f"{record}{key}") for key in IMPORTED},
    )
    return rows


def _of_label(row: Row, place: int, named: Sequence[str]) -> Iterator[Answer]:
    who = (row["item"], 0, row["task"], row["name"])

    def answer(question: str, said: object) -> Answer:
        return Answer(question, *who, str(said), row["is_repeat"], place)

    yield answer(SUCCESS, row["success"])
    for key in IMPORTED:
        if row[key] is not None and str(row[key]).strip():
            yield answer(key, _plain(row[key]))
    if row["success"] == Success.FAILURE:
        if row["failure_step"] is not None:
            yield answer("failure_step", row["failure_step"])
        for cause in named if row["causes"] else ():
            yield answer(f"{_CAUSE}{cause}", YES if cause in row["causes"] else NO)
    if isinstance(row["further"], dict):
        for key, said in list(row["further"].items())[:MOST]:
            if isinstance(said, str | int | float) and str(said).strip():
                yield answer(f"{_FURTHER}{key}", _plain(said))


def _plain(said: str | float) -> str:
    if isinstance(said, bool):
        return YES if said else NO
    return str(said).strip().lower()


def questions_of(study: Study, answers: Sequence[Answer]) -> list[Question]:
    """The questions that somebody answered, success always and first."""
    said: dict[str, set[str]] = {SUCCESS: set()}
    for each in answers:
        said.setdefault(each.question, set()).add(each.said)
    causes = dict(cause_choices(study.taxonomy))

    def place(key: str) -> tuple[int, str]:
        kind = next(n for n, known in enumerate(_ORDER) if key == known or key.startswith(known))
        return kind, key

    return [
        Question(key, _name(key, causes), _categories(key, said[key]))
        for key in sorted(said, key=place)
    ]


def _name(key: str, causes: Mapping[str, object]) -> str:
    if key.startswith(_CAUSE):
        cause = key.removeprefix(_CAUSE)
        return f"{gettext('Causes of failure')}: {causes.get(cause, cause)}"
    return str(_NAMES[key]) if key in _NAMES else key.removeprefix(_FURTHER)


def _categories(key: str, said: Iterable[str]) -> tuple[str, ...]:
    if key == SUCCESS:
        known: tuple[str, ...] = tuple(Success.values)
    elif key == "milestones" or key.startswith(_CAUSE):
        known = YES_NO
    else:
        known = IMPORTED.get(key, ())
    others = sorted(set(said) - set(known), key=lambda word: (len(word), word))
    return (*known, *others)


def answer_words(said: str) -> str:
    """An answer in the reader's language, where it is one of ours."""
    return str(_WORDS.get(said, said))


_WORDS: Mapping[str, str | Promise] = {**dict(Success.choices), YES: _("yes"), NO: _("no")}
