"""What a person may still label in studies, and in which order; and what nobody may label."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

from django.db import connection
from django.db.models import Min, Q, QuerySet

from judging.models import Assignment, Label, Study, StudyItem, StudyMember, Unblinding
from runs.models import User

MAX_SKIPS = 2
"""A run skipped this often is left to the others; its annotator may still take it up."""


class Candidate(NamedTuple):
    """A run that still needs a label which this person may give.

    Attributes:
        taken: labels given plus assignments that others hold now.
        state: of the person's own assignment (leased, submitted, skipped); None where it never
            was assigned.
        held: the person's own lease on it still runs.
        skipped_at: when it was skipped last; None where never.
    """

    item_id: int
    taken: int
    state: str | None = None
    held: bool = False
    n_skips: int = 0
    skipped_at: datetime | None = None


PRIME = 2**31 - 1
PLACE = (
    f"(((item.id %% {PRIME}) * (item.id %% {PRIME})) %% {PRIME} * %(square)s"
    f" + (item.id %% {PRIME}) * %(line)s + %(start)s) %% {PRIME}"
)
"""`Places.of` as the database works it out, for parameters of those names."""


class Places(NamedTuple):
    """One person's order of a study's items, as a number for each: small ones come first. Everybody
    has one of their own, so that tiredness and learning do not fall on the same runs.

    A polynomial modulo a prime, so that a database finds the first of thousands by itself. Of the
    second degree: one of the first would go through the items in steps of a few lengths, and so
    perhaps through all runs of one agent first. All in between is less than 2**63.
    """

    square: int
    line: int
    start: int

    @classmethod
    def for_person(cls, *, seed: int, user_id: int) -> Places:
        """Follows from the study's seed and the person alone, so that it never jumps."""
        drawn = hashlib.blake2b(f"{seed}:{user_id}:order".encode(), digest_size=12).digest()
        square, line, start = (int.from_bytes(drawn[at : at + 4], "big") for at in (0, 4, 8))
        return cls(square % 2**30 + 1, line % 2**30, start % PRIME)

    def of(self, item_id: int) -> int:
        """Where the item stands."""
        number = item_id % PRIME
        return (number * number % PRIME * self.square + number * self.line + self.start) % PRIME


@dataclass(frozen=True, slots=True)
class OpenRuns:
    """The runs of a study that one person may still label and that others do not fill.

    Attributes:
        n_fresh: how many were never assigned to the person.
        next_fresh: the first of those in the person's order, the least labelled first.
        own: those that were assigned to them.
    """

    n_fresh: int = 0
    next_fresh: Candidate | None = None
    own: list[Candidate] = field(default_factory=list)

    def offered(self) -> Iterable[Candidate]:
        """The person's own that still come by themselves: none that was skipped too often."""
        leased = Assignment.State.LEASED
        return (each for each in self.own if each.n_skips < MAX_SKIPS or each.state == leased)

    def left_alone(self) -> set[Candidate]:
        """Those that were skipped too often."""
        return set(self.own).difference(self.offered())

    def first(self, places: Places) -> Candidate | None:
        """The one to offer now.

        First what the person has in work, then the least labelled, and last what they skipped, the
        longest ago first.
        """
        own = sorted(self.offered(), key=lambda each: (*_turn(each), places.of(each.item_id)))
        if own and own[0].state == Assignment.State.LEASED:
            return own[0]
        return self.next_fresh or (own[0] if own else None)

    def without_next(self) -> OpenRuns:
        """As it is once the first of the fresh ones is in the person's hands."""
        if self.next_fresh is None:
            return self
        taken = self.next_fresh._replace(state=Assignment.State.LEASED, held=True)
        return OpenRuns(self.n_fresh - 1, own=[*self.own, taken])


def _turn(own: Candidate) -> tuple[int, int, float]:
    if own.skipped_at is None:
        return 0, 0 if own.held else 1, 0.0
    return 1, own.n_skips, own.skipped_at.timestamp()


OPEN_RUNS = """
    WITH others AS (
        SELECT item_id, COUNT(*) AS n FROM judging_assignment
        WHERE id IN (
            SELECT id FROM judging_assignment WHERE state = 'leased' AND leased_until > %(now)s
        ) AND NOT is_repeat AND user_id <> %(user)s
        GROUP BY item_id
    ), own AS (
        SELECT work.item_id, work.is_repeat FROM judging_assignment AS work
        JOIN judging_studyitem AS item ON item.id = work.item_id
        WHERE work.user_id = %(user)s AND work.state IN (%(leased)s, %(skipped)s)
            AND item.study_id IN ({studies})
    ), wanted AS (
        SELECT item.study_id, item.id, item.n_labels + COALESCE(others.n, 0) AS taken
        FROM judging_studyitem AS item
        JOIN judging_study AS study ON study.id = item.study_id
        LEFT JOIN others ON others.item_id = item.id
        WHERE item.study_id IN ({studies}) AND item.status = %(open)s
            AND item.n_labels + COALESCE(others.n, 0) < study.labels_per_run
            AND item.run_id NOT IN (SELECT id FROM runs_run WHERE is_stub)
            AND item.id NOT IN (SELECT item_id FROM judging_label WHERE annotator_id = %(user)s)
            AND item.run_id NOT IN (
                SELECT seen.run_id FROM judging_unblinding AS unblinding
                JOIN judging_studyitem AS seen ON seen.id = unblinding.item_id
                WHERE unblinding.user_id = %(user)s
            )
            AND item.run_id NOT IN (
                SELECT closed.run_id FROM judging_assignment AS given
                JOIN judging_studyitem AS closed ON closed.id = given.item_id
                WHERE given.user_id = %(user)s AND given.state = %(submitted)s
                    AND NOT given.is_repeat AND closed.status <> %(open)s
            )
    ), fresh AS (
        SELECT * FROM wanted WHERE id NOT IN (SELECT item_id FROM own WHERE NOT is_repeat)
    )
    SELECT 'fresh', study_id, COUNT(*), 0 FROM fresh GROUP BY study_id
    UNION ALL
    SELECT 'wanted', study_id, id, taken FROM wanted
    WHERE id IN (SELECT item_id FROM own WHERE NOT is_repeat)
    UNION ALL
    SELECT 'own', 0, item_id, 0 FROM own
"""
FIRST = f"""
    UNION ALL
    SELECT 'first', study_id, id, taken FROM (
        SELECT * FROM fresh AS item ORDER BY taken, {PLACE}, id LIMIT 1
    ) AS first
"""  # noqa: S608 (our own numbers)
"""SQL, since it is asked with every label: as a queryset it brought all 5,000 runs here, in 10 ms.

One statement, so that an assignment that turns from lease to label in between is counted once,
never twice and never not at all. What the person knows (runs of which they looked at what is
hidden, or whose labels have all arrived) are lists of their own, made once: asked of each run, the
database may go through all of their assignments for each. One stands behind each label that they
gave, and none behind what an import brought in their name. Of a stub there is nothing to judge.
Leases are listed first: SQLite takes the index of those alone where the state is written out, and
where they are not grouped yet.
"""


class Found(NamedTuple):
    """What may be labelled in each study, by its id, and the person's own unfinished assignments.

    Of the latter by item and whether it is a repeat: in work, or skipped.
    """

    open_runs: dict[int, OpenRuns]
    own: dict[tuple[int, bool], Assignment]


def find_open_runs(
    studies: Sequence[Study], user: User, now: datetime, *, for_offer: bool = False
) -> Found:
    """What the person may still label in each of the studies; two queries at most.

    Args:
        for_offer: of one study, with the first of the runs that were never assigned to them.
    """
    numbers = {study.pk: OpenRuns() for study in studies}
    wanted, has_own = dict[int, int](), False
    for what, study, number, taken in _rows(studies, user, now, for_offer=for_offer):
        if what == "wanted":
            wanted[number] = taken
        elif what == "own":
            has_own = True
        elif what == "fresh":
            numbers[study] = OpenRuns(number, numbers[study].next_fresh)
        else:
            numbers[study] = OpenRuns(numbers[study].n_fresh, Candidate(number, taken))
    own = _unfinished(studies, user) if has_own else {}
    for (item, is_repeat), assignment in own.items():
        if not is_repeat and item in wanted:
            waiting = numbers[assignment.item.study_id]
            waiting.own.append(_candidate(assignment, wanted[item], now))
    return Found(numbers, own)


def next_free(studies: Sequence[Study], user: User, now: datetime) -> dict[int, datetime]:
    """When the first run that others hold, open to this person, may become free."""
    waiting = StudyItem.objects.filter(study__in=studies, status=StudyItem.Status.OPEN).exclude(
        pk__in=user.labels.order_by().values("item")
    )
    held = Assignment.objects.filter(
        item__in=waiting.order_by().values("pk"),
        state=Assignment.State.LEASED,
        is_repeat=False,
        leased_until__gt=now,
    )
    others = held.exclude(user=user).order_by()
    return dict(others.values_list("item__study").annotate(first=Min("leased_until")))


def runs_for_nobody(study: Study) -> QuerySet[StudyItem]:
    """Open runs that no present annotator may label, by the rules above: they wait for ever."""
    waiting = study.items.filter(status=StudyItem.Status.OPEN, run__is_stub=False).order_by()
    present = study.members.filter(part=StudyMember.Part.ANNOTATOR, left_at=None)
    for person in present.values_list("user", flat=True):
        waiting = waiting.filter(_known_to(person))
    return waiting


def _known_to(person: int) -> Q:
    """Runs that the person labelled or knows of. Each is a list of their own, made once."""
    labelled = Label.objects.filter(annotator=person).order_by()
    seen = Unblinding.objects.filter(user=person, item__isnull=False).order_by()
    given = Assignment.objects.filter(
        user=person, state=Assignment.State.SUBMITTED, is_repeat=False
    ).order_by()
    closed = given.exclude(item__status=StudyItem.Status.OPEN)
    return (
        Q(pk__in=labelled.values("item"))
        | Q(run__in=seen.values("item__run"))
        | Q(run__in=closed.values("item__run"))
    )


def _rows(
    studies: Sequence[Study], user: User, now: datetime, *, for_offer: bool
) -> Iterator[tuple[str, int, int, int]]:
    if not studies:
        return
    until = Assignment._meta.get_field("leased_until")
    asked: dict[str, Any] = {f"study_{number}": study.pk for number, study in enumerate(studies)}
    statement = OPEN_RUNS.format(studies=", ".join(f"%({name})s" for name in asked))
    asked |= {
        "user": user.pk,
        "now": until.get_db_prep_value(now, connection),
        "open": StudyItem.Status.OPEN.value,
        "leased": Assignment.State.LEASED.value,
        "skipped": Assignment.State.SKIPPED.value,
        "submitted": Assignment.State.SUBMITTED.value,
    }
    if for_offer:
        (study,) = studies
        statement += FIRST
        asked |= Places.for_person(seed=study.sample_seed, user_id=user.pk)._asdict()
    with connection.cursor() as cursor:
        cursor.execute(statement, asked)
        yield from cursor.fetchall()


def _unfinished(studies: Sequence[Study], user: User) -> dict[tuple[int, bool], Assignment]:
    own = Assignment.objects.filter(item__study__in=studies, user=user).select_related("item")
    left = own.exclude(state=Assignment.State.SUBMITTED).order_by("pk")
    return {(one.item_id, one.is_repeat): one for one in left}


def _candidate(own: Assignment, taken: int, now: datetime) -> Candidate:
    is_leased = own.state == Assignment.State.LEASED
    return Candidate(
        own.item_id,
        taken,
        state=own.state,
        held=is_leased and own.leased_until > now,
        n_skips=own.n_skips,
        skipped_at=own.skipped_at if own.state == Assignment.State.SKIPPED else None,
    )
