"""Long work in the background: leased by one worker at a time, resumed where it stopped.

Every verb is one UPDATE whose condition is the state it needs, so that of two callers exactly
one wins. A worker's verbs carry the fencing token of its claim and change nothing once it is
stale.
"""

import uuid
from collections.abc import Iterable
from typing import Any, ClassVar, Self, TypeVar
from uuid import UUID

from django.conf import settings
from django.db import IntegrityError, models, transaction
from django.db.models import Case, Exists, F, OuterRef, Q, Value, When
from django.db.models.functions import Coalesce, Now
from django.utils.translation import gettext_lazy as _

from runs.models.people import User
from runs.models.runs.queue import from_now

Row = TypeVar("Row", bound=models.Model, covariant=True)

DEFAULT, JUDGE = "default", "judge"
MOST_TOLD_AGAIN = 10
"""At most so many possibly lost messages are sent again at a time."""


def queue_of(model: str) -> str:
    """The queue of work that asks this language model, or none.

    What asks a model takes hours and no processor; the rest takes seconds and should not have to
    wait behind it.
    """
    return JUDGE if model else DEFAULT


class WorkState(models.TextChoices):
    """The states of long work."""

    QUEUED = "queued", _("queued")
    RUNNING = "running", _("running")
    FINISHED = "finished", _("finished")
    CANCELLED = "cancelled", _("cancelled")
    STOPPED_BY_BUDGET = "stopped_by_budget", _("stopped at its cost limit")
    FAILED = "failed", _("failed")

    @classmethod
    def stopped(cls) -> list[str]:
        """Ended before all was done, so that it can be resumed."""
        return [cls.CANCELLED, cls.STOPPED_BY_BUDGET, cls.FAILED]


class LeasedWorkQuerySet(models.QuerySet[Row]):
    """The verbs of a queue of work. Generic: `LeasedWork` is abstract."""

    def active(self) -> Self:
        """What waits or runs; in the words of the index `…_active`."""
        return self.filter(Q(state=WorkState.QUEUED) | Q(state=WorkState.RUNNING))

    def active_of(self, user: User, **options: Any) -> Self:
        """The person's active work with these options, as after a double click.

        Call it in the transaction that makes what is missing: of two at a time the second waits.
        """
        User.objects.select_for_update().get(pk=user.pk)
        return self.active().filter(created_by=user, **options)

    def waiting(self) -> Self:
        """What is to be taken up: new work, and work whose worker let the lease run out."""
        return self.filter(
            Q(state=WorkState.QUEUED) | Q(state=WorkState.RUNNING, lease_expires_at__lt=Now())
        )

    def claimable(self, *, longer_than_s: float) -> Self:
        """Work that could have been claimed for so long, without work that waits for its model."""
        long_ago = from_now(-longer_than_s)
        queued = Q(state=WorkState.QUEUED, created_at__lt=long_ago)
        # One that was handed back has waited since then.
        queued &= Q(claimed_at=None) | Q(claimed_at__lt=long_ago)
        if self._asks_models:
            others = self.model._default_manager.filter(
                state=WorkState.RUNNING, model=OuterRef("model")
            )
            queued &= Q(model="") | Q(~Exists(others))
        return self.filter(queued | Q(state=WorkState.RUNNING, lease_expires_at__lt=long_ago))

    def queues(self) -> set[str]:
        """The queues whose workers carry these out."""
        if not self._asks_models:
            return {DEFAULT} if self.exists() else set()
        return set(map(queue_of, self.order_by().values_list("model", flat=True).distinct()))

    @property
    def _asks_models(self) -> bool:
        return any(field.name == "model" for field in self.model._meta.fields)

    def held(self, work_id: UUID, token: int) -> Self:
        """The work, if the claim with this token still owns it."""
        return self.filter(pk=work_id, state=WorkState.RUNNING, lease_token=token)

    def claim(self, work_id: UUID, *, lease_s: float) -> Row | None:
        """Claim a piece of work; None if it cannot be claimed.

        Nor can it while a constraint forbids more of its kind, such as one at a time for each
        model. The returned row carries the fencing token in `lease_token`. A claim
        after one that got no further counts in `n_barren`.
        """
        token = self.waiting().filter(pk=work_id).values_list("lease_token", flat=True).first()
        if token is None:
            return None
        got_further = Q(n_done__gt=F("n_done_at_claim")) | Q(state=WorkState.QUEUED)
        try:
            with transaction.atomic(using=self.db):
                taken = (
                    self.waiting()
                    .filter(pk=work_id, lease_token=token)
                    .update(
                        state=WorkState.RUNNING,
                        lease_token=F("lease_token") + 1,
                        lease_expires_at=from_now(lease_s),
                        n_barren=Case(When(got_further, then=Value(0)), default=F("n_barren") + 1),
                        n_done_at_claim=F("n_done"),
                        claimed_at=Now(),
                        started_at=Coalesce("started_at", Now()),
                    )
                )
        except IntegrityError:
            return None
        return self.get(pk=work_id) if taken else None

    def renew(self, work_id: UUID, token: int, *, lease_s: float, **changes: Any) -> bool:
        """Keep what we hold, writing `changes`; False if another has it now.

        Inside a transaction this is the fence: whatever is written next lands before anyone can
        take the work away, or not at all.
        """
        held = self.held(work_id, token)
        return bool(held.update(lease_expires_at=from_now(lease_s), **changes))

    def end(self, work_id: UUID, token: int, *, state: str, **changes: Any) -> bool:
        """End what we hold; False if another has it now."""
        held = self.held(work_id, token)
        return bool(held.update(state=state, ended_at=Now(), lease_expires_at=None, **changes))

    def hand_back(self, work_id: UUID, token: int) -> bool:
        """Put back what we hold, for the next worker; False if another has it now."""
        held = self.held(work_id, token)
        return bool(held.update(state=WorkState.QUEUED, lease_expires_at=None, dispatched_at=None))

    def request_cancel(self, work_id: UUID) -> bool:
        """Ask that the work stops; False if it has ended already. What waits ends at once."""
        waiting = self.filter(pk=work_id, state=WorkState.QUEUED)
        if waiting.update(state=WorkState.CANCELLED, ended_at=Now(), cancel_requested_at=Now()):
            return True
        return bool(
            self.filter(pk=work_id, state=WorkState.RUNNING).update(cancel_requested_at=Now())
        )

    def resume(self, work_id: UUID, **changes: Any) -> bool:
        """Queue stopped work again, where it stopped; False if there is nothing to resume."""
        again = {
            "state": WorkState.QUEUED,
            "cancel_requested_at": None,
            "dispatched_at": None,
            "ended_at": None,
            "problem": "",
            "n_barren": 0,
        }
        return bool(
            self.filter(pk=work_id, state__in=WorkState.stopped()).update(**again | changes)
        )

    def abandoned(self) -> Self:
        """What runs without a worker."""
        return self.filter(state=WorkState.RUNNING, lease_expires_at__lt=Now())

    def cancel_abandoned(self) -> int:
        """End what was to be cancelled and whose worker is gone; returns how many."""
        asked = self.abandoned().filter(cancel_requested_at__isnull=False)
        return asked.update(state=WorkState.CANCELLED, ended_at=Now(), lease_expires_at=None)

    def give_up(self, *, max_barren: int, problem: str) -> int:
        """Fail work whose workers died repeatedly without progress; returns how many.

        A problem noted meanwhile is more specific and stays.
        """
        hopeless = self.abandoned().filter(
            n_barren__gte=max_barren - 1, n_done__lte=F("n_done_at_claim")
        )
        told = Case(
            When(problem="", then=Value(problem)),
            default=F("problem"),
            output_field=models.TextField(),
        )
        return hopeless.update(
            state=WorkState.FAILED, ended_at=Now(), lease_expires_at=None, problem=told
        )

    def take_undispatched(
        self, *, older_than_s: float, most_again: int = MOST_TOLD_AGAIN
    ) -> list[Row]:
        """Waiting work without a recent message, oldest first; marked as sent.

        All that never had a message, but only the oldest of the rest: with busy workers, messages
        sent again for all of it would pile up.
        """
        never = Q(dispatched_at=None)
        lately = Q(dispatched_at__lt=from_now(-older_than_s))
        waiting = self.waiting().order_by("created_at")
        rows = [*waiting.filter(never), *waiting.filter(lately)[:most_again]]
        return [
            row
            for row in rows
            if self.filter(never | lately, pk=row.pk).update(dispatched_at=Now())
        ]

    def undispatch(self, work_ids: Iterable[UUID]) -> None:
        """Forget that messages of waiting work were sent: they were not, or came too soon."""
        self.filter(pk__in=list(work_ids), state=WorkState.QUEUED).update(dispatched_at=None)


class LeasedWork(models.Model):
    """A row of a queue of record: how far the work is, and who may write to it."""

    State = WorkState

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    state = models.CharField(max_length=17, choices=State, default=State.QUEUED)
    n_total = models.PositiveIntegerField(null=True)
    """How many pieces it has; None until that is known."""
    n_done = models.PositiveIntegerField(default=0)
    problem = models.TextField(blank=True)
    """Why it stopped, in words; empty while it goes well."""
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True)
    created_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)

    lease_token = models.PositiveIntegerField(default=0)
    """Fencing token: grows with every claim, and writes carry it; a stale one is refused."""
    lease_expires_at = models.DateTimeField(null=True)
    claimed_at = models.DateTimeField(null=True)
    n_done_at_claim = models.PositiveIntegerField(default=0)
    n_barren = models.PositiveSmallIntegerField(default=0)
    """Claims in a row that ended with their worker before a piece was done."""
    dispatched_at = models.DateTimeField(null=True)
    """When a worker was last told of it."""
    cancel_requested_at = models.DateTimeField(null=True)

    objects = LeasedWorkQuerySet.as_manager()

    class Meta:
        abstract = True
        ordering = ["-created_at"]
        indexes = [
            # What the top bar of every page counts; few rows, however many have ended. Of two
            # states with "or", as `active` asks: SQLite takes no partial index for a list.
            models.Index(
                fields=["created_by", "created_at"],
                name="%(class)s_active",
                condition=Q(state=WorkState.QUEUED) | Q(state=WorkState.RUNNING),
            )
        ]

    title_reads: ClassVar[tuple[str, ...]] = ()
    """Relations that `title` reads."""

    def get_absolute_url(self) -> str:
        """The page on which it can be watched."""
        raise NotImplementedError

    @property
    def title(self) -> str:
        """What is being done, in words."""
        raise NotImplementedError

    @property
    def queue(self) -> str:
        """The queue whose workers carry it out."""
        return DEFAULT

    @property
    def is_active(self) -> bool:
        """Whether it may still change by itself."""
        return self.state in (self.State.QUEUED, self.State.RUNNING)

    @property
    def can_resume(self) -> bool:
        """Whether it stopped before it was through, so that it can go on from there."""
        return self.state in WorkState.stopped()


class PaidWork(LeasedWork):
    """Leased work that asks a language model, with what that may cost and has cost.

    It consists of items, chosen when it starts; what is done stays done, whoever dies over it.
    """

    model = models.CharField(max_length=200, blank=True)
    """The language model that is asked, by its name in the file of models; empty where none is."""
    max_cost = models.DecimalField(max_digits=14, decimal_places=6, null=True, blank=True)
    """US dollars, as are all costs here; None for no limit."""
    spent = models.DecimalField(max_digits=14, decimal_places=6, default=0)
    n_unpriced = models.PositiveIntegerField(default=0)
    """Replies whose price is unknown, which `spent` does not hold."""
    input_tokens = models.PositiveBigIntegerField(default=0)
    output_tokens = models.PositiveBigIntegerField(default=0)
    estimate = models.JSONField(default=dict)
    """What it was expected to take, as it was shown."""

    class Meta(LeasedWork.Meta):
        abstract = True

    @property
    def queue(self) -> str:
        return queue_of(self.model)
