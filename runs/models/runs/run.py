"""Runs: one execution of one task by one agent configuration, and the queue they wait in."""

import uuid
from decimal import Decimal
from functools import cached_property

from django.conf import settings
from django.db import models
from django.db.models import F, Value
from django.db.models.functions import Coalesce
from django.utils.translation import gettext_lazy as _

from runs.models.experiments import AgentConfiguration, Experiment
from runs.models.runs.queries import TITLE_CHARS, GoalStart, RunQuerySet
from runs.models.runs.turns import LANES_PER_PERSON, RunPriority, RunStatus


class Run(models.Model):
    """One execution. `status` is the queue's state, `outcome` the task's; judgements are elsewhere.

    A row whose status is an ended one never changes again: the database refuses it, see
    `runs.models.triggers`. A retry after an infrastructure
    error is a new row that points back with `retry_of`, and so is a rerun with `rerun_of`.
    """

    class Outcome(models.TextChoices):
        SUCCESS = "success", _("success")
        FAILURE = "failure", _("failure")
        ERROR = "error", _("error")
        INCOMPLETE = "incomplete", _("incomplete")
        NOT_EXECUTABLE = "not_executable", _("not executable")
        UNKNOWN = "unknown", _("unknown")

    class EndReason(models.TextChoices):
        TASK_ENDED = "task_ended", _("task ended")
        AGENT_STOPPED = "agent_stopped", _("agent stopped")
        AGENT_GAVE_UP = "agent_gave_up", _("agent gave up")
        MAX_STEPS = "max_steps", _("step limit")
        TIME_LIMIT = "time_limit", _("time limit")
        TOKEN_LIMIT = "token_limit", _("token limit")
        COST_LIMIT = "cost_limit", _("cost limit")
        MESSAGE_LIMIT = "message_limit", _("message limit")
        HARNESS_LOOP_STOP = "harness_loop_stop", _("stopped for looping")
        RECOVERY_EXHAUSTED = "recovery_exhausted", _("stuck again after the last recovery")
        RECOVERY_REFUSED = "recovery_refused", _("stuck, and going back would repeat writes")
        REPLAY_DIVERGED = "replay_diverged", _("replay came to another page")
        CANCELLED = "cancelled", _("cancelled")
        EXCEPTION = "exception", _("exception")
        KILLED = "killed", _("killed")
        NEVER_STARTED = "never_started", _("never started")
        UNKNOWN = "unknown", _("unknown")

    Priority = RunPriority

    class ErrorOrigin(models.TextChoices):
        AGENT = "agent", _("agent")
        ENVIRONMENT = "environment", _("environment")
        MODEL = "model", _("model")
        HARNESS = "harness", _("harness")
        UNKNOWN = "unknown", _("unknown")

    class Fault(models.TextChoices):
        """Classes of infrastructure errors; none of them ever counts against the agent."""

        BROWSER_CRASH = "browser_crash", _("browser crashed")
        BROWSER_HUNG = "browser_hung", _("browser did not answer")
        BROWSER_MISSING = "browser_missing", _("no browser")
        NAVIGATION_TIMEOUT = "navigation_timeout", _("page did not load in time")
        HTTP_429 = "http_429", _("site limits requests (429)")
        HTTP_5XX = "http_5xx", _("site's server error (5xx)")
        SITE_NOT_READY = "site_not_ready", _("site not ready")
        LOGIN_FAILED = "login_failed", _("log-in to the site failed")
        TASK_UNAVAILABLE = "task_unavailable", _("task not available here")
        ENVIRONMENT_OTHER = "environment_other", _("another fault of the environment")
        PROVIDER_RATE_LIMITED = "provider_rate_limited", _("model provider limits requests (429)")
        PROVIDER_OVERLOADED = "provider_overloaded", _("model provider's error (5xx)")
        PROVIDER_UNREACHABLE = "provider_unreachable", _("model provider not reached")
        PROVIDER_OTHER = "provider_other", _("model provider refuses us")
        WORKER_LOST = "worker_lost", _("worker lost")
        HARNESS = "harness", _("a fault of our own")

    class Loop(models.IntegerChoices):
        """Whether the detectors found a loop, and under which comparison of steps."""

        NONE = 0, _("no loop")
        ACTIONS = 1, _("equal actions, on any page")
        ACTIONS_AND_PAGE = 2, _("equal actions on equal pages")

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    task = models.ForeignKey("runs.Task", models.PROTECT, related_name="runs", db_index=False)
    agent = models.ForeignKey(
        AgentConfiguration, models.PROTECT, related_name="runs", db_index=False
    )
    experiment = models.ForeignKey(
        Experiment, models.PROTECT, null=True, blank=True, related_name="runs"
    )
    goal = models.TextField(blank=True)
    """The instruction as this run was given it."""
    seed = models.BigIntegerField(null=True, blank=True)
    trial = models.PositiveIntegerField(default=1)
    max_steps = models.PositiveIntegerField(null=True, blank=True)
    policy = models.ForeignKey(
        "runs.RetryPolicy", models.PROTECT, null=True, blank=True, related_name="runs"
    )
    """What is done if it breaks or gets stuck; without one, as the settings say."""
    launch = models.UUIDField(null=True, blank=True, editable=False, db_index=True)
    """The same for runs that were launched together: one budget holds for all of them."""
    rerun_rule = models.CharField(max_length=64, blank=True, editable=False)
    """The rule of its policy that had it made, by its key; empty where a person chose it.

    As hidden as an outcome: it tells how the run before it went.
    """

    status = models.CharField(max_length=10, choices=RunStatus, default=RunStatus.QUEUED)
    outcome = models.CharField(max_length=20, choices=Outcome, default=Outcome.UNKNOWN)
    end_reason = models.CharField(max_length=20, choices=EndReason, default=EndReason.UNKNOWN)
    reward = models.FloatField(null=True, blank=True)
    final_answer = models.TextField(null=True, blank=True)
    final_url = models.TextField(null=True, blank=True)
    error_message = models.TextField(blank=True)
    error_origin = models.CharField(max_length=20, choices=ErrorOrigin, blank=True)
    fault = models.CharField(max_length=30, choices=Fault, blank=True)
    """What of the infrastructure failed; empty where a run ended otherwise."""
    evidence = models.JSONField(null=True, blank=True)
    """What the page showed when the run ended, for scoring offline."""

    n_steps = models.PositiveIntegerField(default=0)
    n_screenshots = models.PositiveIntegerField(default=0)
    has_anomaly = models.BooleanField(default=False)
    loop = models.SmallIntegerField(choices=Loop, null=True, editable=False)
    """The strictest comparison under which it has a loop in the usual windows; empty where nobody
    has looked."""
    input_tokens = models.PositiveBigIntegerField(null=True, blank=True)
    output_tokens = models.PositiveBigIntegerField(null=True, blank=True)
    cost = models.DecimalField(max_digits=14, decimal_places=6, null=True, blank=True)
    seconds = models.FloatField(null=True, blank=True)

    source_format = models.CharField(max_length=40)
    content_hash = models.CharField(max_length=64, null=True, blank=True, unique=True)
    """Same content, same hash: what makes importing twice add nothing."""
    is_stub = models.BooleanField(default=False, db_default=False, editable=False)
    """It came with verdicts but without its trajectory; it becomes whole once."""
    stub_key = models.CharField(max_length=64, null=True, blank=True, unique=True, editable=False)
    """Of a run that is or was a stub: its names as one word, so that none is here twice."""
    record = models.JSONField(default=dict)
    """The run as it came in (steps apart), so that it can go out again without loss."""

    rerun_of = models.ForeignKey(
        "self", models.SET_NULL, null=True, blank=True, related_name="reruns"
    )
    retry_of = models.OneToOneField(
        "self", models.SET_NULL, null=True, blank=True, related_name="retried_by"
    )
    family = models.UUIDField(null=True, blank=True, editable=False, db_index=True)
    """The first of all the runs that repeat one another; empty in it, and where none does."""
    attempt = models.PositiveIntegerField(default=1)
    superseded = models.BooleanField(default=False)
    """An attempt that a later one replaced; kept, and left out of lists by default."""

    archived_at = models.DateTimeField(null=True, blank=True, editable=False)
    """When it was archived: left out of lists, still opened by its address, deleted later."""

    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, db_index=False
    )
    created_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)

    priority = models.PositiveSmallIntegerField(choices=Priority, default=Priority.BY_HAND)
    lane = models.GeneratedField(
        expression=Coalesce(F("created_by_id"), Value(0)) * Value(LANES_PER_PERSON)
        + Coalesce(F("experiment_id"), Value(0)),
        output_field=models.BigIntegerField(),
        db_persist=True,
    )
    """Person and experiment as one number: runs of one lane are taken in order."""
    queued_at = models.DateTimeField(null=True, blank=True)
    """When it was put into the queue of this installation; empty for imported runs."""
    claimed_at = models.DateTimeField(null=True, blank=True)
    """When a worker last took it."""
    not_before = models.DateTimeField(null=True, blank=True)
    waits_since = models.DateTimeField(null=True, blank=True, editable=False)
    """Since when it is put off because one of its sites is not ready."""
    lease_owner = models.CharField(max_length=200, blank=True)
    lease_token = models.PositiveIntegerField(default=0)
    """Fencing token: grows with every claim, and writes carry it; a stale one is refused."""
    lease_expires_at = models.DateTimeField(null=True, blank=True)
    heartbeat_at = models.DateTimeField(null=True, blank=True)
    cancel_requested_at = models.DateTimeField(null=True, blank=True)

    is_blind: bool
    """This and the following only `RunQuerySet.visible_to` adds, for the person it was read for."""
    is_anonymous: bool
    shown_status: str
    shown_outcome: str | None
    shown_reward: float | None
    shown_end_reason: str | None
    shown_fault: str | None
    shown_anomaly: bool | None
    shown_agent: str | None
    shown_model: str | None
    shown_experiment: str | None
    shown_cost: Decimal | None

    objects = RunQuerySet.as_manager()

    class Meta:
        ordering = ["-created_at", "-id"]
        verbose_name = "run"
        permissions = [
            ("rerun_run", "Can launch and cancel reruns"),
            ("import_run", "Can import runs"),
            ("export_run", "Can export runs"),
        ]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(rerun_of=None, retry_of=None) | models.Q(family__isnull=False),
                name="a_repeat_has_a_family",
            )
        ]
        indexes = [
            models.Index(fields=["-created_at", "-id"], name="run_newest"),
            models.Index(fields=["experiment", "-created_at"], name="run_by_experiment"),
            models.Index(
                fields=["experiment", "superseded", "status", "outcome"], name="run_counted"
            ),
            models.Index(fields=["outcome", "-created_at"], name="run_by_outcome"),
            # The orders of the list, each read forwards and backwards.
            models.Index(fields=["agent", "-created_at", "-id"], name="run_by_agent"),
            models.Index(fields=["task", "-created_at", "-id", "agent"], name="run_by_task"),
            models.Index(fields=["status", "-created_at", "-id"], name="run_by_status"),
            models.Index(fields=["has_anomaly", "-created_at", "-id"], name="run_by_anomaly"),
            models.Index(fields=["n_steps", "-created_at", "-id"], name="run_by_steps"),
            models.Index(fields=["seconds", "-created_at", "-id"], name="run_by_seconds"),
            models.Index(fields=["cost", "-created_at", "-id"], name="run_by_cost"),
            models.Index(
                GoalStart("goal"), F("created_at").desc(), F("id").desc(), name="run_by_goal"
            ),
            models.Index(
                fields=["-created_at", "-id"],
                name="run_made_here",
                condition=models.Q(queued_at__isnull=False) | models.Q(lease_token__gt=0),
            ),
            models.Index(
                fields=["-created_at", "-id"],
                name="run_archived",
                condition=models.Q(archived_at__isnull=False),
            ),
            models.Index(
                fields=["-created_at", "-id"], name="run_stubs", condition=models.Q(is_stub=True)
            ),
            models.Index(
                fields=["policy", "-created_at", "-id"],
                name="run_by_policy",
                condition=models.Q(policy__isnull=False),
            ),
            models.Index(fields=["created_by", "status"], name="run_by_creator"),
            models.Index(
                fields=["created_by", "-ended_at"],
                name="run_ended_of",
                condition=models.Q(ended_at__isnull=False),
            ),
            models.Index(
                fields=["fault", "-created_at"], name="run_by_fault", condition=~models.Q(fault="")
            ),
            models.Index(
                fields=["status", "not_before"],
                name="run_waiting",
                condition=models.Q(status__in=["queued", "leased", "running"]),
            ),
            models.Index(
                # With its status, which is always the same, so that SQLite takes no other for it.
                fields=["status", "lane", "priority", "created_at", "id"],
                name="run_in_lane",
                condition=models.Q(status="queued"),
            ),
            models.Index(
                fields=["created_by", "-claimed_at"],
                name="run_last_claimed",
                condition=models.Q(claimed_at__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.task_id} {self.id}"

    @cached_property
    def title(self) -> str:
        """What it is called where it is one of many; queries of lists read it by `titled`."""
        return (self.goal or self.task.goal or self.task.external_id)[:TITLE_CHARS]

    @property
    def root(self) -> uuid.UUID:
        """Id of the first run of its family: its own where it repeats none."""
        return self.family or self.pk

    @property
    def is_active(self) -> bool:
        """Whether it may still change."""
        return self.status in RunStatus.active()


def hides_something(run: Run) -> bool:
    """Whether the viewer that the run was read for is blinded to it, or names are hidden."""
    return run.is_blind or run.is_anonymous
