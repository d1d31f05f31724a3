"""Logs of runs to learn from, and sets of web knowledge as agents are given them."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from django.db.models import QuerySet
from django.utils.translation import gettext as _
from pydantic import BaseModel, ConfigDict, Field, JsonValue, StrictInt, ValidationError

from runs.models import (
    AgentConfiguration,
    KnowledgeEntry,
    KnowledgeSet,
    KnowledgeSource,
    Run,
    Step,
    User,
)
from runs.models.experiments import KNOWLEDGE_KEY
from webagent.agents.generic.knowledge import framed
from webagent.agents.settings import AgentSettings
from webagent.knowledge.entries import LONGEST_TEXT, Entry, RunLog, hash_of, log_of
from webagent.llm.budget import count_tokens
from webagent.measures import batched

RUNS_AT_A_TIME = 50


def logs_of(run_ids: Sequence[UUID]) -> Iterator[RunLog]:
    """The logs of these runs, in their order; runs that are gone are left out."""
    for part in batched(run_ids, RUNS_AT_A_TIME):
        # Only what a log is made of: outcome, reward and evidence are not even read.
        of_task = ("goal", "site", "sites", "external_id", "task_set__name")
        runs = Run.objects.select_related("task__task_set").only(
            "goal", *(f"task__{name}" for name in of_task)
        )
        found = runs.in_bulk(part)
        steps: dict[UUID, list[Step]] = defaultdict(list)
        rows = Step.objects.filter(run__in=list(found)).only("run", "index", "record")
        for step in rows.order_by("run", "index"):
            steps[step.run_id].append(step)
        for run_id in part:
            if run_id in found:
                yield _log(found[run_id], steps[run_id])


def _log(run: Run, steps: Sequence[Step]) -> RunLog:
    task = run.task
    return log_of(
        str(run.pk),
        f"{task.task_set_id} {task.external_id}",
        run.goal or task.goal,
        [step.to_record() for step in steps],
        site="+".join(map(str, task.sites)) or task.site or task.task_set.name,
    )


BUDGET = int(AgentSettings.model_fields["knowledge_tokens"].default)
"""Tokens that an agent gives to knowledge unless it is told otherwise."""


class UnknownKnowledgeError(Exception):
    """There is no such set; the message says which there are."""


class UnfitEntryError(Exception):
    """No agent and no model may be told an entry as it is stored; the message says which, and why.

    Nothing here writes such a row, but whoever restores or mends a database by hand may.
    """


def entry_of(row: KnowledgeEntry) -> Entry:
    """What agents read of the row.

    Raises:
        UnfitEntryError: it lacks words that an entry needs, or is too long.
    """
    try:
        return Entry(intent=row.intent, ok=row.ok, ng=row.ng)
    except ValidationError:
        words = _(
            "An entry of %(set)s lacks words or is longer than %(most)s characters: “%(intent)s”. "
            "Change it, or switch it off."
        )
        told = {"set": row.knowledge_set, "most": LONGEST_TEXT, "intent": row.intent[:80]}
        raise UnfitEntryError(words % told) from None


def recount(knowledge_set: KnowledgeSet) -> KnowledgeSet:
    """Bring hash, number and length in line with the entries, and store them."""
    # Unchecked: one entry that is unfit must not keep others from being changed.
    told = [
        Entry.model_construct(intent=row.intent, ok=row.ok, ng=row.ng)
        for row in knowledge_set.entries.for_agents()
    ]
    knowledge_set.content_hash = hash_of(told)
    knowledge_set.n_entries = len(told)
    knowledge_set.n_tokens = count_tokens(framed("\n".join(entry.text for entry in told)))
    knowledge_set.save(update_fields=["content_hash", "n_entries", "n_tokens"])
    return knowledge_set


def with_knowledge(config: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """The configuration with the content of the set that it names, if it names one.

    A set is named by its words, such as `library summarised v2`, or by an object with those as
    `set`, and `select` and `top` beside them.

    Raises:
        UnknownKnowledgeError: there is no such set, it has no entries, or one that is unfit.
    """
    named = config.get(KNOWLEDGE_KEY)
    asked: dict[str, JsonValue] = {"set": named} if isinstance(named, str) else {}
    if isinstance(named, dict):
        asked = dict(named)
    if not asked or "entries" in asked:
        return dict(config)
    return dict(config) | {KNOWLEDGE_KEY: asked | _snapshot(str(asked.get("set", "")))}


def _snapshot(words: str) -> dict[str, JsonValue]:
    found = [row for row in KnowledgeSet.objects.all() if str(row) == words]
    if not found:
        known = ", ".join(str(row) for row in KnowledgeSet.objects.latest_versions()[:20])
        raise UnknownKnowledgeError(
            _("There is no %(what)s %(name)s. There are: %(known)s.")
            % {"what": _("web knowledge"), "name": words, "known": known or "–"}
        )
    try:
        told = [entry_of(row) for row in found[0].entries.for_agents()]
    except UnfitEntryError as error:
        raise UnknownKnowledgeError(str(error)) from None
    if not told:
        raise UnknownKnowledgeError(_("%(name)s has no entries.") % {"name": words})
    entries: list[JsonValue] = [entry.model_dump(mode="json") for entry in told]
    return {"set": words, "sha256": hash_of(told), "entries": entries}


class Given(BaseModel):
    """How much of its web knowledge a run's agent was given, as its record says.

    `budget` is what its settings say, None for all of it; `room` what the prompt had of that.
    """

    model_config = ConfigDict(frozen=True, populate_by_name=True)

    n: StrictInt = Field(validation_alias="given")
    left_out: tuple[StrictInt, ...]
    """Places among the entries that agents read, from 0."""
    budget: StrictInt | None = Field(validation_alias="budget_tokens")
    room: StrictInt | None = Field(None, validation_alias="room_tokens")

    @property
    def all(self) -> int:
        return self.n + len(self.left_out)

    @property
    def is_short_of_room(self) -> bool:
        """Whether the prompt had less room than the budget, and that left something out."""
        short = self.room is not None and (self.budget is None or self.room < self.budget)
        return short and bool(self.left_out)


def knowledge_given(run: Run) -> Given | None:
    """What the record says; it may say anything, which is nothing then."""
    extra = run.record.get("extra")
    try:
        return Given.model_validate(extra.get("knowledge") if isinstance(extra, dict) else None)
    except ValidationError:
        return None


def runs_with(knowledge_set: KnowledgeSet, user: User) -> QuerySet[Run]:
    """Runs whose agent has this knowledge, as far as the person may know their agents."""
    shown = Run.objects.visible_to(user).not_anonymous()
    having = {f"config__{KNOWLEDGE_KEY}__sha256": knowledge_set.content_hash}
    agents = AgentConfiguration.objects.filter(**having)
    # As a list: mostly there is none, and the database would look at every run to find that out.
    return shown.filter(agent__in=list(agents.values_list("pk", flat=True)))


ROWS_AT_A_TIME = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class NewEntry:
    """One entry with the runs that it came from and the raw entries that it stands for."""

    intent: str
    ok: str
    ng: str
    is_enabled: bool = True
    problem: str = ""
    is_edited: bool = False
    position: int | None = None
    """Its place in the set where it is not the one in the list."""
    sources: Mapping[UUID, Sequence[int]] = field(default_factory=dict)
    """Steps by run."""
    parents: Sequence[int] = ()
    """Ids of entries."""


def fill(knowledge_set: KnowledgeSet, entries: Sequence[NewEntry]) -> KnowledgeSet:
    """Make these the entries of a new set, in this order. A fixed number of queries for 500."""
    rows = KnowledgeEntry.objects.bulk_create(
        [
            KnowledgeEntry(
                knowledge_set=knowledge_set,
                position=place if entry.position is None else entry.position,
                intent=entry.intent,
                ok=entry.ok,
                ng=entry.ng,
                is_enabled=entry.is_enabled,
                problem=entry.problem,
                is_edited=entry.is_edited,
            )
            for place, entry in enumerate(entries)
        ],
        batch_size=ROWS_AT_A_TIME,
    )
    pairs = list(zip(rows, entries, strict=True))
    KnowledgeSource.objects.bulk_create(
        [
            KnowledgeSource(entry=row, run_id=run, steps=list(steps))
            for row, entry in pairs
            for run, steps in entry.sources.items()
        ],
        batch_size=ROWS_AT_A_TIME,
    )
    parenthood = KnowledgeEntry.parents.through
    parenthood.objects.bulk_create(
        [
            parenthood(from_knowledgeentry_id=row.pk, to_knowledgeentry_id=parent)
            for row, entry in pairs
            for parent in dict.fromkeys(entry.parents)
        ],
        batch_size=ROWS_AT_A_TIME,
    )
    return recount(knowledge_set)
