"""Evaluators' versions and verdicts, batches of them, and what models replied."""

import uuid

from django.db import models
from django.urls import reverse
from django.utils.translation import gettext, pgettext_lazy
from django.utils.translation import gettext_lazy as _

from runs.models.leased_work import PaidWork
from webagent.llm.registry import is_stub

IMPORTED_KEY = "evaluator"
"""Key in `Evaluation.record` of those that came with a file of runs."""
MOST_NAMED = 4
"""Differences that the name of a version shows; more are cut."""


def _part(config: dict[str, object], name: str) -> dict[str, object]:
    """The configuration of one part of a pipeline."""
    part = config.get(name)
    inner = part.get("config") if isinstance(part, dict) else None
    return inner if isinstance(inner, dict) else {}


TITLES = {
    "before": _("strict + judge"),
    "after": _("repaired + judge"),
    "two-stage-judge": _("two-stage-judge"),
}


class EvaluatorVersion(models.Model):
    """One evaluator with one configuration. Any change of either is another version."""

    class Kind(models.TextChoices):
        REWARD = "reward", _("imported reward")
        MATCHER = "matcher", _("matcher")
        JUDGE = "judge", _("LLM judge")
        SELF_JUDGE = "self_judge", _("agent's own judge")
        NETWORK = "network", _("network trace")
        PIPELINE = "pipeline", _("pipeline")
        MILESTONES = "milestones", _("milestones")
        MODES = "modes", _("failure modes")

    name = models.CharField(max_length=100)
    kind = models.CharField(max_length=12, choices=Kind)
    version = models.CharField(max_length=100)
    config = models.JSONField(default=dict)
    config_hash = models.CharField(max_length=64, unique=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["name", "version"]
        verbose_name = "evaluator"

    def __str__(self) -> str:
        return f"{self.name} {self.full_version}"

    @property
    def title(self) -> str:
        """Its name for people: what it is, where the name in commands and files does not say."""
        return str(TITLES.get(self.name, self.name))

    @property
    def kind_words(self) -> str:
        """Its kind for people. `get_kind_display` puts every kind into words to find one."""
        return str(dict(self.Kind.choices).get(self.kind, self.kind))

    @property
    def shown(self) -> str:
        """The same with the version: which evaluator a page speaks of."""
        return f"{self.title} {self.full_version}"

    @property
    def full_version(self) -> str:
        """The version, and behind it what is switched otherwise."""
        return f"{self.version} ({self.variant})" if self.variant else self.version

    @property
    def variant(self) -> str:
        """How versions of one name differ: the model asked, and what is switched otherwise.

        In the configuration's own words, such as `−rounding, −units, tasks: patched`.
        """
        config = self.config if isinstance(self.config, dict) else {}
        parts = [self.model] if self.model else []
        for each in (config, _part(config, "matcher"), _part(config, "judge")):
            off = each.get("off")
            parts += [f"−{rule}" for rule in off] if isinstance(off, list) else []
            stages = each.get("stages")
            parts += [f"{stages[0]} alone"] if isinstance(stages, list) and len(stages) == 1 else []
        if self.kind == self.Kind.MATCHER and isinstance(config.get("tasks"), str):
            parts.append(f"tasks: {config['tasks']}")
        return ", ".join(parts[:MOST_NAMED]) + ("…" if len(parts) > MOST_NAMED else "")

    @property
    def model(self) -> str:
        """The language model that it asks; empty where it asks none, or none is known."""
        model = self.config.get("model") if isinstance(self.config, dict) else None
        return model if isinstance(model, str) else ""

    @property
    def is_stub(self) -> bool:
        """Whether a stand-in answers where a model would."""
        return is_stub(self.model)


class Evaluation(models.Model):
    """One evaluator's verdict on one run. Appended, never edited; `is_current` marks the newest."""

    class Verdict(models.TextChoices):
        PASSED = "passed", _("passed")
        FAILED = "failed", pgettext_lazy("a verdict", "failed")
        ERROR = "error", _("no verdict")
        NOT_APPLICABLE = "not_applicable", _("not applicable")

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    run = models.ForeignKey("runs.Run", models.CASCADE, related_name="evaluations", db_index=False)
    """Looked up by the index `evaluation_by_run`."""
    evaluator = models.ForeignKey(EvaluatorVersion, models.PROTECT, related_name="evaluations")
    verdict = models.CharField(max_length=15, choices=Verdict)
    score = models.FloatField(null=True)
    reason = models.CharField(max_length=200, blank=True)
    """Why there is no verdict, in a few words; empty where there is one."""
    details = models.JSONField(default=dict)
    """Checks with expected, actual and normalised values, and the rule that decided."""
    rationale = models.TextField(blank=True)
    cost = models.DecimalField(max_digits=14, decimal_places=6, null=True)
    seconds = models.FloatField(null=True)
    record = models.JSONField(default=dict)
    task = models.ForeignKey(
        "runs.Task", models.SET_NULL, null=True, blank=True, related_name="evaluations"
    )
    """The version of the task that was judged, which need not be the run's own."""
    batch = models.ForeignKey(
        "judging.EvaluationBatch",
        models.SET_NULL,
        null=True,
        blank=True,
        related_name="evaluations",
    )
    is_current = models.BooleanField(default=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["run", "evaluator"],
                condition=models.Q(is_current=True),
                name="one_current_evaluation",
            )
        ]
        indexes = [
            models.Index(fields=["evaluator", "verdict", "run"], name="evaluation_cells"),
            # Matrices of all evaluators over a study's runs are counted from this alone.
            models.Index(
                fields=["run", "evaluator", "verdict", "is_current"], name="evaluation_by_run"
            ),
            # Why evaluators have no verdict, which few evaluations say.
            models.Index(
                fields=["run", "reason", "evaluator", "verdict"],
                name="evaluation_reasons",
                condition=models.Q(is_current=True, reason__gt=""),
            ),
            models.Index(
                fields=["batch", "verdict"],
                name="evaluation_by_batch",
                condition=models.Q(batch__isnull=False),
            ),
        ]
        verbose_name = "evaluation"

    def __str__(self) -> str:
        return f"{self.evaluator_id}: {self.verdict}"


SETTLED = (Evaluation.Verdict.PASSED, Evaluation.Verdict.FAILED)
"""What is a verdict; the other two say why there is none."""


class EvaluationPatrol(models.Model):
    """The one row of `judging.evaluating.tasks`: where its walk through the runs stands.

    Lost, the search starts again.
    """

    begun_at = models.DateTimeField()
    came_to_at = models.DateTimeField(null=True)
    """When the run that was looked at last was made; empty where the walk is over."""
    came_to = models.UUIDField(null=True)

    def __str__(self) -> str:
        return f"{self.begun_at}: {self.came_to_at}"


class EvaluationBatch(PaidWork):
    """One evaluator version over the runs of a study or a selection, with progress and cost.

    Its items are its runs.
    """

    class Again(models.TextChoices):
        """Which runs are evaluated although they have an evaluation."""

        NEVER = "never", _("only runs that it has not judged yet")
        NO_VERDICT = "no-verdict", _("also runs on which it came to no verdict")
        ALL = "all", _("all runs anew")

    study = models.ForeignKey(
        "judging.Study", models.CASCADE, null=True, blank=True, related_name="batches"
    )
    """None for a selection of runs."""
    evaluator = models.ForeignKey(EvaluatorVersion, models.PROTECT, related_name="batches")
    again = models.CharField(max_length=12, choices=Again, default=Again.NEVER)
    limit = models.PositiveIntegerField(null=True, blank=True)
    n_passed = models.PositiveIntegerField(default=0)
    n_failed = models.PositiveIntegerField(default=0)
    n_error = models.PositiveIntegerField(default=0)
    n_not_applicable = models.PositiveIntegerField(default=0)
    n_already = models.PositiveIntegerField(default=0)
    """Runs that somebody else evaluated meanwhile."""

    class Meta(PaidWork.Meta):
        verbose_name = "batch of evaluations"
        constraints = [
            models.UniqueConstraint(
                fields=["model"],
                condition=models.Q(state="running") & ~models.Q(model=""),
                name="one_running_batch_per_model",
            )
        ]
        indexes = [
            *PaidWork.Meta.indexes,
            models.Index(fields=["state", "created_at"], name="batch_by_state"),
            models.Index(fields=["-created_at", "-id"], name="batch_newest"),
        ]

    def __str__(self) -> str:
        return f"{self.evaluator_id} {self.state}"

    title_reads = ("evaluator",)

    def get_absolute_url(self) -> str:
        return reverse("judging:batch_detail", args=[self.pk])

    @property
    def title(self) -> str:
        return gettext("evaluated by %(evaluator)s") % {"evaluator": self.evaluator}


class EvaluationBatchItem(models.Model):
    """One run of a batch, and whether the batch is through with it."""

    batch = models.ForeignKey(EvaluationBatch, models.CASCADE, related_name="items")
    run = models.ForeignKey("runs.Run", models.CASCADE, related_name="+")
    position = models.PositiveIntegerField()
    is_done = models.BooleanField(default=False)

    class Meta:
        ordering = ["batch", "position"]
        constraints = [models.UniqueConstraint(fields=["batch", "run"], name="run_once_per_batch")]
        indexes = [
            models.Index(
                fields=["batch", "position"],
                name="batch_item_waiting",
                condition=models.Q(is_done=False),
            )
        ]

    def __str__(self) -> str:
        return f"{self.batch_id} #{self.position}"


class JudgeReply(models.Model):
    """What a model replied, by everything that was asked of it. Kept so that nothing is paid twice.

    `reply` may quote a trajectory and is shown with evaluations only.
    """

    key = models.CharField(max_length=100, primary_key=True)
    reply = models.JSONField()
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name = "reply of a model"

    def __str__(self) -> str:
        return self.key
