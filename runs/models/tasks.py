"""Tasks, the versioned sets they come in, and the milestones that progress is counted in."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Self

from django.conf import settings
from django.db import models
from django.db.models import BooleanField, Case, CharField, Exists, F, OuterRef, Q, Value, When
from django.db.models.fields.json import KeyTextTransform, KeyTransform
from django.db.models.functions import Coalesce, Length, NullIf
from django.utils.translation import gettext_lazy as _

from runs.models.visibility import run_policy

if TYPE_CHECKING:
    from runs.models.people import User

DEEPEST_PATCHES = 3
"""Patches upon patches that infeasibility is looked for through."""
_VERSIONS = ("pk", *("__".join(["original"] * depth) for depth in range(1, DEEPEST_PATCHES + 1)))
NATURAL_ORDER = ("task_set_id", Length("external_id"), "external_id")
"""By task set as they came, then by id as people count: 9 before 10; an index has this order."""


def task_key(set_name: str, external_id: str) -> str:
    """A task's id within its benchmark: BrowserGym writes `webarena.7` where the file has `7`."""
    return external_id.removeprefix(f"{set_name}.")


class TaskQuerySet(models.QuerySet["Task"]):
    def visible_to(self, user: User) -> Self:
        """Tasks, with what would tell a person the answer to a run that they still judge blanked.

        Adds `is_sealed` (boolean) and `shown_kind`, `shown_category` (of its patch, if any) and
        `shown_infeasible`, all NULL on sealed tasks. Pages filter, sort, count and show these,
        never the bare columns; specification, reference, reasons and changes of a sealed task
        are not shown at all. A task is sealed in every version of its benchmark at once, since
        one version's reference mostly is the other's.
        """
        spelled = self._spelled_ids_of_sealed(user)
        is_sealed: Any = Value(False, output_field=BooleanField())
        if spelled:
            is_sealed = Case(
                When(external_id__among=spelled, then=Value(True)),
                default=Value(False),
                output_field=BooleanField(),
            )
        infeasible = Case(
            When(is_sealed=True, then=Value(None)),
            When(infeasible_reason="", then=Value(False)),
            default=Value(True),
            output_field=BooleanField(null=True),
        )
        return self.annotate(is_sealed=is_sealed).annotate(
            shown_kind=_unless_sealed("evaluation_kind"),
            shown_category=_unless_sealed("revision__category"),
            shown_infeasible=infeasible,
        )

    def in_order(self) -> Self:
        """By task set, then by id as people count."""
        return self.order_by(*NATURAL_ORDER)

    def is_infeasible(self, task: str) -> Q:
        """Whether the task that a row leads to is infeasible, asked row by row.

        As it is, or in a version that patches made of it: those have an index of their own.

        Args:
            task: the path of the relation.
        """
        marked = self.filter(infeasible_reason__gt="").order_by()
        found = Q()
        for link in _VERSIONS:
            found |= Q(Exists(marked.filter(**{link: OuterRef(task)})))
        return found

    def infeasible_ids(self, most: int) -> set[int] | None:
        """The tasks of which `is_infeasible` holds, in one query; None where very many are marked.

        Args:
            most: so many marked tasks are looked up.
        """
        marked = self.filter(infeasible_reason__gt="").order_by()
        found = list(marked.values_list(*_VERSIONS)[: most + 1])
        return None if len(found) > most else {pk for row in found for pk in row if pk}

    def is_sealed(self, user: User, task: str) -> Q:
        """Whether the task that a row leads to is sealed from the person; see `visible_to`.

        Args:
            task: the path of the relation.
        """
        spelled = self._spelled_ids_of_sealed(user)
        return Q(**{f"{task}__external_id__among": spelled}) if spelled else Q(pk__in=())

    def newest_versions(self, task_ids: Iterable[int]) -> dict[int, Task]:
        """The task of the same id in the newest version that patches made of its set, by task.

        A task whose set was never patched is its own newest version. Where a version was patched
        more than once, the later patch counts. Three queries, however many tasks.
        """
        every: Any = self.model._default_manager
        asked = {
            pk: (set_id, external_id)
            for pk, set_id, external_id in every.filter(pk__in=list(task_ids)).values_list(
                "pk", "task_set", "external_id"
            )
        }
        newest = self._newest_sets()
        rows: Any = self.filter(
            task_set__in={newest[set_id] for set_id, _ in asked.values()},
            external_id__in={external_id for _, external_id in asked.values()},
        )
        found = {(row.task_set_id, row.external_id): row for row in rows}
        wanted = {pk: (newest[set_id], name) for pk, (set_id, name) in asked.items()}
        return {pk: found[place] for pk, place in wanted.items() if place in found}

    def _newest_sets(self) -> dict[int, int]:
        """The newest descendant of every task set; the set itself where it has none."""
        sets: Any = self._task_sets().order_by("created_at", "pk")
        parents = dict(sets.values_list("pk", "parent"))
        child = {parent: pk for pk, parent in parents.items() if parent}
        newest = {}
        for pk in parents:
            end = pk
            while end in child:
                end = child[end]
            newest[pk] = end
        return newest

    def _spelled_ids_of_sealed(self, user: User) -> list[str]:
        """What tasks are called of which the person judges a run, in all versions of their sets."""
        blind = run_policy().blind_tasks(user)
        if not blind:
            return []
        every: Any = self.model._default_manager
        under_judgement = every.filter(pk__among=blind).order_by()
        named = under_judgement.values_list("task_set__name", "external_id")
        keys = {task_key(name, external_id) for name, external_id in named}
        names = set(self._task_sets().values_list("name", flat=True))
        spelled = keys | {f"{name}.{key}" for name in names for key in keys}
        return sorted(spelled)

    def _task_sets(self) -> Any:
        model: Any = self.model._meta.get_field("task_set").related_model
        return model._default_manager.all()


def _unless_sealed(field: str) -> Case:
    return Case(
        When(is_sealed=True, then=Value(None)), default=field, output_field=CharField(null=True)
    )


class TaskSet(models.Model):
    """A named, versioned collection of tasks, such as `webarena` `raw`."""

    name = models.CharField(max_length=200)
    version = models.CharField(max_length=200)
    parent = models.ForeignKey(
        "self", models.PROTECT, null=True, blank=True, related_name="children"
    )
    """The version that a patch turned into this one."""
    patch = models.JSONField(default=dict)
    """Head of that patch: name, version, author, licence, about; empty without a parent."""
    patch_hash = models.CharField(max_length=64, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["name", "version"], name="one_task_set_version")
        ]
        verbose_name = "task set"

    def __str__(self) -> str:
        return f"{self.name} {self.version}"


class Task(models.Model):
    """One instruction with its start and its evaluation specification.

    `spec` is the benchmark's own evaluation, verbatim; it and `reference` hold the expected
    answer and are never shown to a person who is blinded to one of the task's runs.
    """

    task_set = models.ForeignKey(TaskSet, models.PROTECT, related_name="tasks")
    external_id = models.CharField(max_length=200)
    site = models.CharField(max_length=200, blank=True, db_index=True)
    sites = models.JSONField(default=list)
    goal = models.TextField(blank=True)
    start_urls = models.JSONField(default=list)
    intent_template = models.TextField(blank=True)
    spec = models.JSONField(null=True, blank=True)
    reference = models.JSONField(null=True, blank=True)
    template = models.CharField(max_length=200, blank=True, db_index=True)
    """The benchmark's own id of the template that the task was made from."""
    evaluation_kind = models.CharField(max_length=200, blank=True, db_index=True)
    """Names of the evaluations that `spec` asks for, joined by +, such as url_match+program_html.

    As hidden as `spec`: it hints at the expected outcome.
    """
    original = models.ForeignKey(
        "self", models.PROTECT, null=True, blank=True, related_name="versions"
    )
    """The same task in the version that a patch turned into this one, changed or not."""
    max_steps = models.PositiveIntegerField(null=True, blank=True)
    infeasible_reason = models.TextField(blank=True)
    record = models.JSONField(default=dict)
    """The task as it came in, so that it can go out again without loss."""
    split = models.GeneratedField(
        expression=Coalesce(
            NullIf(KeyTextTransform("split", KeyTransform("extra", "record")), Value("null")),
            Value(""),
            output_field=models.TextField(),
        ),
        output_field=models.TextField(),
        db_persist=True,
    )
    """The part of its benchmark that the record says it is of, such as `dev`; empty for none."""

    is_sealed: bool
    """This and the following only `visible_to` adds, for the person that it was read for."""
    shown_kind: str | None
    shown_category: str | None
    shown_infeasible: bool | None

    objects = TaskQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["task_set", "external_id"], name="one_task_per_set")
        ]
        indexes = [
            # The order of the tasks table, set by set.
            models.Index(
                F("task_set"),
                Length("external_id"),
                F("external_id"),
                F("id"),
                name="task_in_order",
            ),
            models.Index(
                F("evaluation_kind"),
                F("task_set"),
                Length("external_id"),
                F("external_id"),
                name="task_by_kind",
            ),
            models.Index(
                fields=["original"], condition=Q(infeasible_reason__gt=""), name="task_infeasible"
            ),
            models.Index(fields=["external_id"], name="task_by_external_id"),
            # The same order through all sets.
            models.Index(Length("external_id"), F("external_id"), F("id"), name="task_by_id"),
            models.Index(fields=["split"], condition=Q(split__gt=""), name="task_split"),
        ]
        ordering = ["task_set", "external_id"]
        verbose_name = "task"

    def __str__(self) -> str:
        return self.external_id


class TaskRevision(models.Model):
    """What a patch changed in one task, and why. Hidden like the task's specification."""

    class Category(models.TextChoices):
        OUTPUT_FORMAT = "output_format", _("output format stated")
        CONTRADICTION = "contradiction", _("contradiction resolved")
        REFERENCE = "reference", _("reference corrected")
        AMBIGUITY = "ambiguity", _("ambiguity clarified")
        AUTHENTICATION_ORDER = "authentication_order", _("order of log-ins")
        INFEASIBLE = "infeasible", _("infeasible")

    task = models.OneToOneField(Task, models.CASCADE, related_name="revision")
    """The task as it is after the patch; `task.original` is the one before."""
    category = models.CharField(max_length=30, choices=Category.choices, db_index=True)
    why = models.TextField()
    changes = models.JSONField(default=list)
    """The changes of the patch, in the form of its file."""

    class Meta:
        verbose_name = "task revision"

    def __str__(self) -> str:
        return f"{self.task_id}: {self.category}"


class MilestoneQuerySet(models.QuerySet["Milestone"]):
    def in_force(self) -> Self:
        """Those that were not removed, in the order of their tasks."""
        return self.filter(removed_at__isnull=True)


class Milestone(models.Model):
    """One milestone of a task. As hidden as the task's specification: its check tells the answer.

    What a milestone is called is what people and judges were asked, so another name makes another
    milestone; the former is kept, removed, with what was said of it.
    """

    class Origin(models.TextChoices):
        WRITTEN = "written", _("written here")
        IMPORTED = "imported", _("imported")
        PROPOSED = "proposed", _("proposed by a model, accepted by a person")

    task = models.ForeignKey(Task, models.CASCADE, related_name="milestones")
    position = models.PositiveIntegerField()
    """Its place among the task's milestones, from 1; those removed keep their last one."""
    name = models.CharField("name", max_length=200)
    weight = models.FloatField("weight", default=1.0)
    is_ordered = models.BooleanField("in order", default=False)
    """Counts only once all ordered milestones before it were reached."""
    rule = models.JSONField("mechanical check", null=True, blank=True)
    """How to tell from the steps alone, as `webagent.milestones.checks.Rule` writes it, or None."""
    origin = models.CharField(max_length=10, choices=Origin, default=Origin.WRITTEN)
    added_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True)
    added_at = models.DateTimeField(auto_now_add=True)
    removed_at = models.DateTimeField(null=True, blank=True)

    objects = MilestoneQuerySet.as_manager()

    class Meta:
        ordering = ["task", "position", "id"]
        constraints = [
            models.UniqueConstraint(
                fields=["task", "name"],
                condition=models.Q(removed_at__isnull=True),
                name="milestone_named_once",
            ),
            models.CheckConstraint(condition=models.Q(weight__gt=0), name="milestone_weighs"),
        ]
        verbose_name = "milestone"

    def __str__(self) -> str:
        return self.name
