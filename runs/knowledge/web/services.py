"""Web knowledge that people ask for and edit."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from decimal import Decimal
from uuid import UUID

from django.db import transaction
from django.utils.translation import gettext as _

from runs.catalogue.language_models import ModelUnavailableError, usable_entry
from runs.knowledge.learning import start_learning
from runs.knowledge.web.jobs import in_words, leaks_in, next_version
from runs.knowledge.web.sets import NewEntry, UnfitEntryError, entry_of, fill, logs_of, recount
from runs.models import KnowledgeEntry, KnowledgeSet, LearningJob, Run, User
from runs.queue.paid_work import WorkRefusedError
from webagent.knowledge.entries import Entry
from webagent.knowledge.web import (
    EXTRACTION_TOKENS,
    SUMMARY_TOKENS,
    extraction_request,
    groups_of,
    load_wording,
    summary_request,
)
from webagent.llm.budget import count_request, price_of
from webagent.llm.interface import Request
from webagent.llm.registry import ModelEntry

SAMPLE = 20
"""So many runs are read for an estimate."""
MOST_RUNS = 5000
COPIED = ("position", "intent", "ok", "ng", "is_enabled", "problem", "is_edited")
"""What an entry takes along into the next version of its set."""


class LeakingEntryError(Exception):
    """An entry of a summarised set tells something of its sources; the message says what."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """What a job takes at most if no reply has to be asked for again.

    `cost` is in US dollars; None where the model's price is unknown.
    """

    n_items: int
    input_tokens: int
    output_tokens: int
    cost: Decimal | None

    def as_json(self) -> dict[str, int | str | None]:
        """The estimate as it is kept with a job."""
        return asdict(self) | {"cost": None if self.cost is None else f"{self.cost:f}"}


def estimate_extraction(*, runs: Sequence[UUID], model: str) -> Estimate:
    """What extraction from these runs takes, from the logs of some of them, spread evenly.

    Raises:
        ModelUnavailableError: the model cannot be asked.
    """
    entry = usable_entry(model)
    wanted = Run.objects.filter(pk__among=runs)
    ids = list(wanted.judgeable().order_by("pk").values_list("pk", flat=True))
    sample = ids if len(ids) <= SAMPLE else ids[:: len(ids) // SAMPLE][:SAMPLE]
    wording = load_wording()
    requests = [extraction_request(model, log, wording) for log in logs_of(sample)]
    return _estimate(len(ids), requests, EXTRACTION_TOKENS, entry)


def estimate_summary(*, knowledge_set: KnowledgeSet, model: str) -> Estimate:
    """What summarising the set takes.

    Raises:
        ModelUnavailableError: the model cannot be asked.
        UnfitEntryError: it may not be asked of one of the entries.
    """
    entry = usable_entry(model)
    entries = [entry_of(row) for row in knowledge_set.entries.for_agents()]
    wording = load_wording()
    requests = [
        summary_request(
            model, [(place, entries[place]) for place in group], knowledge_set.site, wording
        )
        for group in groups_of(entries)
    ]
    return _estimate(len(requests), requests, SUMMARY_TOKENS, entry)


def start_extraction(
    *,
    name: str,
    runs: Sequence[UUID],
    model: str,
    then_summarise: bool = False,
    max_cost: Decimal | None = None,
    user: User | None = None,
    is_told: bool = False,
) -> LearningJob:
    """Queue the extraction of knowledge from the logs of these runs, for each site a set.

    Raises:
        WorkRefusedError: the model cannot be asked, or there is nothing or too much to learn from.
    """
    if len(runs) > MOST_RUNS:
        raise WorkRefusedError(
            _("At most %(max)d runs at once; these are %(n)d.") % {"n": len(runs), "max": MOST_RUNS}
        )
    wanted = Run.objects.filter(pk__in=runs)
    ids = list(wanted.judgeable().order_by("created_at", "pk").values_list("pk", flat=True))
    if not ids:
        raise WorkRefusedError(_("None of these runs has ended and has steps."))
    try:
        expected = estimate_extraction(runs=ids, model=model)
    except ModelUnavailableError as error:
        raise WorkRefusedError(str(error)) from error
    return start_learning(
        kind=LearningJob.Kind.EXTRACT,
        model=model,
        params={
            "name": name,
            "runs": [str(run_id) for run_id in ids],
            "then_summarise": then_summarise,
        },
        max_cost=max_cost,
        estimate=expected.as_json(),
        user=user,
        is_told=is_told,
    )


@transaction.atomic
def start_summary(
    *,
    knowledge_set: KnowledgeSet,
    model: str,
    max_cost: Decimal | None = None,
    user: User | None = None,
    is_told: bool = False,
) -> LearningJob:
    """Queue the summary of a raw set, which is frozen by it.

    Raises:
        WorkRefusedError: it is none, is empty, or the model cannot be asked.
    """
    if not knowledge_set.is_raw or not knowledge_set.n_entries:
        raise WorkRefusedError(_("There are no raw entries to summarise."))
    try:
        expected = estimate_summary(knowledge_set=knowledge_set, model=model)
    except (ModelUnavailableError, UnfitEntryError) as error:
        raise WorkRefusedError(str(error)) from error
    KnowledgeSet.objects.freeze(knowledge_set.content_hash)
    return start_learning(
        kind=LearningJob.Kind.SUMMARISE,
        model=model,
        params={"set": knowledge_set.pk, "name": str(knowledge_set)},
        max_cost=max_cost,
        estimate=expected.as_json(),
        user=user,
        is_told=is_told,
    )


@transaction.atomic
def edit_entry(*, entry: KnowledgeEntry, words: Entry, user: User) -> KnowledgeEntry:
    """Give an entry other words; in the next version, where its set is frozen.

    An entry that was left out for what it told is switched on again, since that is gone.

    Raises:
        LeakingEntryError: it is of a summarised set and tells something of its sources.
    """
    if found := leaks_in(entry.knowledge_set, words):
        raise LeakingEntryError(
            _("This belongs to one run, not to the site: %(what)s.") % {"what": in_words(found)}
        )
    own = _editable(entry, user)
    own.intent, own.ok, own.ng = words.intent, words.ok, words.ng
    own.is_enabled = own.is_enabled or bool(own.problem)
    own.problem = ""
    own.is_edited = True
    own.save()
    recount(own.knowledge_set)
    return own


@transaction.atomic
def switch_entry(*, entry: KnowledgeEntry, is_enabled: bool, user: User) -> KnowledgeEntry:
    """Have agents told an entry, or not; in the next version, where its set is frozen.

    Raises:
        LeakingEntryError: it was left out for what it tells, and still tells it.
    """
    if is_enabled and entry.problem:
        raise LeakingEntryError(
            _("This belongs to one run, not to the site: %(what)s.") % {"what": entry.problem}
        )
    if entry.is_enabled == is_enabled:
        return entry
    own = _editable(entry, user)
    own.is_enabled = is_enabled
    own.save(update_fields=["is_enabled"])
    recount(own.knowledge_set)
    return own


def next_set_version(*, knowledge_set: KnowledgeSet, user: User) -> KnowledgeSet:
    """The next version with the same entries, to be edited."""
    made = KnowledgeSet.objects.create(
        name=knowledge_set.name,
        site=knowledge_set.site,
        kind=knowledge_set.kind,
        version=next_version(knowledge_set.name, knowledge_set.site, knowledge_set.kind),
        parent=knowledge_set,
        model=knowledge_set.model,
        wording=knowledge_set.wording,
        created_by=user,
    )
    return fill(
        made,
        [
            NewEntry(
                **{name: getattr(entry, name) for name in COPIED},
                sources={each.run_id: each.steps for each in entry.sources.all()},
                parents=[parent.pk for parent in entry.parents.all()],
            )
            for entry in knowledge_set.entries.order_by("position").prefetch_related(
                "sources", "parents"
            )
        ],
    )


def _editable(entry: KnowledgeEntry, user: User) -> KnowledgeEntry:
    """The entry, or its copy in the next version where its set is frozen."""
    locked = KnowledgeSet.objects.select_for_update().get(pk=entry.knowledge_set_id)
    if locked.frozen_at is None:
        return KnowledgeEntry.objects.select_related("knowledge_set").get(pk=entry.pk)
    made = next_set_version(knowledge_set=locked, user=user)
    return made.entries.select_related("knowledge_set").get(position=entry.position)


def _estimate(
    n_items: int, requests: Sequence[Request], most_said: int, entry: ModelEntry
) -> Estimate:
    share = n_items / len(requests) if requests else 0
    given = round(share * sum(count_request(request, entry) for request in requests))
    said = n_items * most_said
    cost = price_of(given, said, entry)
    return Estimate(n_items=n_items, input_tokens=given, output_tokens=said, cost=cost)
