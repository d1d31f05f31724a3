"""Why evaluators were wrong, and how and why runs failed, as people say it."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, Self, TypeVar

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from judging.models.evaluations import EvaluatorVersion
from judging.models.studies import StudyItem
from runs.models import User
from webagent.trajectory.verdict_records import Mode, Side

E = TypeVar("E", bound="HistoryEntry")


class Cause(models.TextChoices):
    """What made the evaluator's verdict differ from the reference. An error may have several."""

    OUTPUT_FORMAT = "output_format", _("output format not stated")
    WRONG_REFERENCE = "wrong_reference", _("wrong reference")
    SEVERAL_ANSWERS = "several_answers", _("several correct answers")
    URL_FORM = "url_form", _("URL form")
    TOO_STRICT = "too_strict", _("evaluator too strict")
    TOO_LENIENT = "too_lenient", _("evaluator too lenient")
    AMBIGUOUS_TASK = "ambiguous_task", _("ambiguous task")
    CONTRADICTORY_TASK = "contradictory_task", _("contradictory task")
    INFEASIBLE = "infeasible", _("infeasible")
    ENVIRONMENT = "environment", _("environment")
    LABEL_ERROR = "label_error", _("label error")


class Repair(models.TextChoices):
    """Where the repair belongs."""

    TASK_DATA = "task_data", _("task data")
    EVALUATION_LOGIC = "evaluation_logic", _("evaluation logic")
    NEITHER = "neither", _("neither")


class Batch(NamedTuple):
    """What was said together: its id, by which it can be undone, and of how many."""

    batch: uuid.UUID
    changed: int
    left_out: int = 0
    """What was named and nothing could be said of."""


class HistoryQuerySet(models.QuerySet[E, E]):
    """Entries of histories of one kind."""

    def append(self, entries: Sequence[E]) -> int:
        """Store those that say something else than what they replace; how many. They are current.

        Call it in a transaction that holds what the histories are of.
        """
        new = [each for each in entries if each.said != each.said_before]
        replaced = [each.replaces.pk for each in new if each.replaces]
        self.filter(pk__in=replaced).update(is_current=False)
        self.bulk_create(new)
        return len(new)

    def undo(self, by: User, **beside: Any) -> int:
        """Say again what was said before those of these that are current; of how many.

        In such a transaction too.
        """
        current = self.filter(is_current=True).select_related("replaces")
        return self.append([each.undoing(by=by, **beside) for each in current])


class HistoryEntry(models.Model):
    """What somebody said, appended and never edited; the newest is current."""

    NOTHING: ClassVar[Mapping[str, object]]
    """What the entry says, by field, where it takes back what was said before."""
    ABOUT: ClassVar[Sequence[str]]
    """Columns that all entries of a history share."""

    note = models.TextField(blank=True)
    at = models.DateTimeField(auto_now_add=True)
    replaces = models.OneToOneField("self", models.RESTRICT, null=True, related_name="replaced_by")
    is_current = models.BooleanField(default=True)

    class Meta:
        abstract = True

    @property
    def said(self) -> dict[str, object]:
        """What it says, by field."""
        return {name: getattr(self, name) for name in self.NOTHING}

    @property
    def said_before(self) -> dict[str, object]:
        """What was said before it."""
        return self.replaces.said if self.replaces else dict(self.NOTHING)

    def undoing(self, **beside: Any) -> Self:
        """An entry, not stored, that gives back what was said before this one."""
        about = {name: getattr(self, name) for name in self.ABOUT}
        return type(self)(**{**about, **self.said_before, "replaces": self, **beside})


class CauseTag(HistoryEntry):
    """What an auditor says of one error.

    An error is a run of a study, an evaluator by *name*, and the kind of error. Not the version:
    the same run fails for the same reason when the evaluator is made or configured again,
    so its tag still counts for every version that still errs there, and waits for those that
    do not. `evaluator` is the version before the auditor's eyes. A tag without causes and repair
    says that the error is untagged (again).
    """

    class Error(models.TextChoices):
        FN = "fn", _("false negative")
        FP = "fp", _("false positive")

    item = models.ForeignKey(StudyItem, models.CASCADE, related_name="cause_tags")
    evaluator_name = models.CharField(max_length=100)
    evaluator = models.ForeignKey(EvaluatorVersion, models.PROTECT, related_name="cause_tags")
    error = models.CharField(max_length=2, choices=Error)
    causes = models.JSONField(default=list)
    """Values of `Cause`, in its order."""
    repair = models.CharField(max_length=20, choices=Repair, blank=True)
    by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="cause_tags")
    batch = models.UUIDField(default=uuid.uuid4, db_index=True)
    """What was tagged together is undone together."""
    is_undo = models.BooleanField(default=False)

    ABOUT = ("item_id", "evaluator_name", "evaluator_id", "error")
    NOTHING = {"causes": [], "repair": "", "note": ""}
    objects = HistoryQuerySet["CauseTag"].as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["item", "evaluator_name", "error"],
                condition=models.Q(is_current=True),
                name="one_current_cause_tag",
            )
        ]
        ordering = ["item", "at", "id"]
        verbose_name = "cause of an error"

    def __str__(self) -> str:
        return f"{self.error} of {self.evaluator_name}: {', '.join(self.causes)}"

    @property
    def cause_names(self) -> list[str]:
        """The causes for people."""
        return [str(Cause(cause).label) for cause in self.causes]


class FailureReview(HistoryEntry):
    """One person's word on how a run failed.

    It is about the run, whatever study or experiment it is looked at in. `proposed` keeps what
    was before the person's eyes, so that it is known how often proposals were right.
    """

    class Decision(models.TextChoices):
        CONFIRMED = "confirmed", _("confirmed")
        CHANGED = "changed", _("changed")
        REJECTED = "rejected", _("rejected")
        OWN = "own", _("said without a proposal")
        WITHDRAWN = "withdrawn", _("taken back")

    run = models.ForeignKey("runs.Run", models.CASCADE, related_name="failure_reviews")
    decision = models.CharField(max_length=10, choices=Decision)
    modes = models.JSONField(default=dict)
    """An object whose keys are values of `Mode`, so that databases can look for one."""
    side = models.CharField(max_length=10, blank=True)
    """A value of `Side`; empty where it is neither or nobody knows."""
    proposed = models.JSONField(default=dict)
    """`modes` (values of `Mode`), `side`, and `evaluations`, the ids of those that found them."""
    by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="failure_reviews")
    batch = models.UUIDField(default=uuid.uuid4, db_index=True)
    """Tags made together are undone together."""

    ABOUT = ("run_id", "proposed")
    NOTHING = {"decision": Decision.WITHDRAWN.value, "modes": {}, "side": "", "note": ""}
    objects = HistoryQuerySet["FailureReview"].as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["run"],
                condition=models.Q(is_current=True),
                name="one_current_failure_review",
            )
        ]
        ordering = ["run", "at", "id"]
        verbose_name = "word on a failure"

    def __str__(self) -> str:
        return f"{self.decision}: {', '.join(self.modes)}"

    @property
    def named(self) -> list[Mode]:
        """The modes, in their order."""
        return [mode for mode in Mode if mode in self.modes]

    @property
    def known_side(self) -> Side | None:
        return Side(self.side) if self.side in set(Side) else None


class FailureCause(models.TextChoices):
    """Why a run failed, of an agent that sees by screenshots alone."""

    VISION = "vision", _("vision")
    REASONING = "reasoning", _("reasoning")
    OTHER = "other", _("other")

    @classmethod
    def known(cls, value: str | None) -> FailureCause | None:
        """The cause of that value; None for none."""
        return cls(value) if value in cls.values else None


class FailureSample(models.Model):
    """Failures of one configuration drawn at random; the newest of a configuration counts.

    The same seed from the same failures draws the same runs.
    """

    experiment = models.ForeignKey(
        "runs.Experiment", models.CASCADE, related_name="failure_samples"
    )
    agent = models.ForeignKey(
        "runs.AgentConfiguration", models.PROTECT, related_name="failure_samples"
    )
    seed = models.BigIntegerField()
    wanted = models.PositiveIntegerField()
    among = models.PositiveIntegerField()
    """How many failures there were to draw from."""
    drawn_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+"
    )
    drawn_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["experiment", "agent", "-id"]
        verbose_name = "sample of failures"

    def __str__(self) -> str:
        return f"sample {self.pk}"


class SampledFailure(models.Model):
    """One run of a sample, in the order in which it was drawn."""

    sample = models.ForeignKey(FailureSample, models.CASCADE, related_name="failures")
    run = models.ForeignKey("runs.Run", models.CASCADE, related_name="sampled_as")
    position = models.PositiveIntegerField()
    proposal = models.JSONField(null=True)
    """`cause`, and `findings` that say so: see `judging.analysis.miniwob.proposing`; empty for
    none, and null until the run's screens were looked at."""

    class Meta:
        ordering = ["sample", "position"]
        constraints = [
            models.UniqueConstraint(fields=["sample", "run"], name="a_failure_is_drawn_once")
        ]

    def __str__(self) -> str:
        return f"failure {self.position} of sample {self.sample_id}"

    @property
    def proposed(self) -> FailureCause | None:
        return FailureCause.known((self.proposal or {}).get("cause"))


class FailureCauseTag(HistoryEntry):
    """One person's word on why a run failed."""

    run = models.ForeignKey("runs.Run", models.CASCADE, related_name="failure_cause_tags")
    cause = models.CharField(max_length=10, blank=True, choices=FailureCause)
    """Empty where it was taken back."""
    proposed = models.CharField(max_length=10, blank=True)
    """The cause that was proposed before the person's eyes; empty for none."""
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.PROTECT, related_name="failure_cause_tags"
    )

    ABOUT = ("run_id",)
    NOTHING = {"cause": "", "note": ""}
    objects = HistoryQuerySet["FailureCauseTag"].as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["run"],
                condition=models.Q(is_current=True),
                name="one_current_failure_cause",
            )
        ]
        ordering = ["run", "at", "id"]
        verbose_name = "cause of a failure"

    def __str__(self) -> str:
        return self.cause or "taken back"
