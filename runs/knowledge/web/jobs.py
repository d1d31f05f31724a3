"""Web knowledge as learning jobs: extraction run by run, summaries group by group."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import Any
from uuid import UUID

from django.db.models import Max
from django.utils.translation import gettext as _
from pydantic import JsonValue

from runs.knowledge.learning import Learned, Learning, learns
from runs.knowledge.web.sets import NewEntry, entry_of, fill, logs_of
from runs.models import KnowledgeSet, KnowledgeSource, LearningJob, Run
from runs.queue.paid_work import WorkRefusedError
from webagent.knowledge.entries import Entry, SummarisedEntry
from webagent.knowledge.leaks import Leak, Literals, literals_of
from webagent.knowledge.web import extract, groups_of, leaks_of, load_wording, merged, summarise
from webagent.llm.interface import LanguageModel
from webagent.llm.untrusted import BadReply

Kind = KnowledgeSet.Kind


class Extraction(Learning):
    """`params`: `name` of the sets, `runs` (ids), `then_summarise`."""

    def keys(self, job: LearningJob) -> Sequence[str]:
        wanted = Run.objects.filter(pk__in=job.params["runs"])
        known = set(wanted.judgeable().order_by().values_list("pk", flat=True))
        keys = [run_id for run_id in job.params["runs"] if UUID(run_id) in known]
        if not keys:
            raise WorkRefusedError(_("None of these runs has ended and has steps."))
        return keys

    def learn(self, job: LearningJob, key: str, model: LanguageModel) -> Learned:
        [log] = logs_of([UUID(key)])
        try:
            found = extract(model, job.model, log)
        except BadReply as bad:
            return Learned(problem=str(bad))
        entries: list[JsonValue] = [each.model_dump(mode="json") for each in found.entries]
        return Learned(
            result={
                "site": log.site,
                "entries": entries,
                "n_without_ng": found.n_without_ng,
                "asks": found.asks,
            }
        )

    def finish(self, job: LearningJob) -> Mapping[str, JsonValue]:
        by_site: dict[str, list[dict[str, Any]]] = defaultdict(list)
        results = [item.result for item in job.items.filter(problem="").order_by("position")]
        for result in results:
            by_site[result["site"]] += result["entries"]
        sets = [
            _raw_set(job, site, entries) for site, entries in sorted(by_site.items()) if entries
        ]
        if job.params.get("then_summarise"):
            for made in sets:
                _ask_for_summary(job, made)
        return {
            "sets": [made.pk for made in sets],
            "n_runs": len(results),
            "n_entries": sum(map(len, by_site.values())),
            "n_without_ng": sum(result["n_without_ng"] for result in results),
            "asks": sum(result["asks"] for result in results),
        }


class Summary(Learning):
    """`params`: `set`, the id of a raw set, which is frozen."""

    def keys(self, job: LearningJob) -> Sequence[str]:
        groups = _notes_of(job).groups
        if not groups:
            raise WorkRefusedError(_("There are no raw entries to summarise."))
        return [str(number) for number in range(len(groups))]

    def learn(self, job: LearningJob, key: str, model: LanguageModel) -> Learned:
        notes = _notes_of(job)
        group = notes.groups[int(key)]
        try:
            found = summarise(
                model,
                job.model,
                [(place, notes.entries[place]) for place in group],
                notes.literals,
                site=notes.site,
            )
        except BadReply as bad:
            return Learned(problem=str(bad))
        return Learned(
            result={
                "entries": [each.model_dump(mode="json") for each in found.entries],
                "rejected": [
                    each.entry.model_dump(mode="json") | {"problem": in_words(each.leaks)}
                    for each in found.rejected
                ],
                "uncovered": list(found.uncovered),
                "asks": found.asks,
                "n_redone": found.n_redone,
            }
        )

    def finish(self, job: LearningJob) -> Mapping[str, JsonValue]:
        raw = KnowledgeSet.objects.get(pk=job.params["set"])
        results = [item.result for item in job.items.filter(problem="").order_by("position")]
        good = merged(
            [SummarisedEntry.model_validate(each) for found in results for each in found["entries"]]
        )
        rejected = [each for found in results for each in found["rejected"]]
        notes = _notes_of(job)
        failed = [int(key) for key in job.items.exclude(problem="").values_list("key", flat=True)]
        made = _summarised_set(job, raw, good, rejected) if good or rejected else None
        return {
            "sets": [made.pk] if made else [],
            "n_notes": len(notes.entries),
            "n_entries": len(good),
            "n_rejected": len(rejected),
            "n_redone": sum(found["n_redone"] for found in results),
            "n_uncovered": sum(len(found["uncovered"]) for found in results)
            + sum(len(notes.groups[number]) for number in failed),
            "asks": sum(found["asks"] for found in results),
        }


def in_words(leaks: Sequence[Leak]) -> str:
    """What leaks, on one line."""
    return "; ".join(map(str, leaks))


def leaks_in(knowledge_set: KnowledgeSet, entry: Entry) -> list[Leak]:
    """What an entry of a summarised set tells that it must not; raw ones may tell anything.

    It must not tell values of the runs that any entry of the set came from.
    """
    if knowledge_set.is_raw:
        return []
    return leaks_of(entry, _literals(_sources_in(knowledge_set)))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Notes:
    """The entries of a raw set with what is to be made of them."""

    site: str
    entries: tuple[Entry, ...]
    groups: tuple[tuple[int, ...], ...]
    literals: Literals


def _notes_of(job: LearningJob) -> _Notes:
    raw = KnowledgeSet.objects.get(pk=job.params["set"])
    return _notes(raw.pk, raw.content_hash)


@lru_cache(maxsize=4)
def _notes(set_id: int, content_hash: str) -> _Notes:  # tells contents apart
    """Kept for the groups that follow."""
    raw = KnowledgeSet.objects.get(pk=set_id)
    entries = tuple(entry_of(row) for row in raw.entries.for_agents())
    logs = list(logs_of(_sources_in(raw)))
    return _Notes(
        site=raw.site,
        entries=entries,
        groups=tuple(tuple(group) for group in groups_of(entries)),
        literals=literals_of(logs, [f"{each.intent} {each.ok} {each.ng}" for each in entries]),
    )


@lru_cache(maxsize=4)
def _literals(run_ids: tuple[UUID, ...]) -> Literals:
    """Kept, since ended runs never change."""
    return literals_of(list(logs_of(run_ids)))


def _sources_in(knowledge_set: KnowledgeSet) -> tuple[UUID, ...]:
    """The runs that entries of the set came from."""
    sources = KnowledgeSource.objects.filter(entry__knowledge_set=knowledge_set)
    return tuple(sorted(set(sources.values_list("run", flat=True))))


def _raw_set(job: LearningJob, site: str, entries: Sequence[Mapping[str, Any]]) -> KnowledgeSet:
    made = _new_set(job, job.params["name"], site, Kind.RAW)
    return fill(made, [_entry(each, {UUID(each["run"]): each["steps"]}) for each in entries])


def _summarised_set(
    job: LearningJob,
    raw: KnowledgeSet,
    good: Sequence[SummarisedEntry],
    rejected: Sequence[Mapping[str, Any]],
) -> KnowledgeSet:
    made = _new_set(job, raw.name, raw.site, Kind.SUMMARISED, parent=raw)
    known = list(raw.entries.for_agents().values_list("pk", flat=True))
    sources = _sources_of(raw)
    entries = []
    for entry in [*(each.model_dump() for each in good), *rejected]:
        parents = [known[place] for place in entry["sources"]]
        entries.append(_entry(entry, _together(sources[parent] for parent in parents), parents))
    return fill(made, entries)


def _new_set(
    job: LearningJob, name: str, site: str, kind: Kind, parent: KnowledgeSet | None = None
) -> KnowledgeSet:
    wording = load_wording()
    return KnowledgeSet.objects.create(
        name=name,
        site=site,
        kind=kind,
        version=next_version(name, site, kind),
        parent=parent,
        job=job,
        model=job.model,
        wording=f"{wording.version} ({wording.sha256[:12]})",
        created_by=job.created_by,
    )


def next_version(name: str, site: str, kind: str) -> int:
    same = KnowledgeSet.objects.filter(name=name, site=site, kind=kind)
    newest: int | None = same.aggregate(newest=Max("version"))["newest"]
    return (newest or 0) + 1


def _entry(
    entry: Mapping[str, Any], sources: Mapping[UUID, Sequence[int]], parents: Sequence[int] = ()
) -> NewEntry:
    problem = entry.get("problem", "")
    return NewEntry(
        intent=entry["intent"],
        ok=entry["ok"],
        ng=entry["ng"],
        is_enabled=not problem,
        problem=problem,
        sources=sources,
        parents=parents,
    )


def _sources_of(raw: KnowledgeSet) -> Mapping[int, Mapping[UUID, list[int]]]:
    """Runs and steps of every entry of the set."""
    found: defaultdict[int, dict[UUID, list[int]]] = defaultdict(dict)
    for source in KnowledgeSource.objects.filter(entry__knowledge_set=raw).order_by("pk"):
        found[source.entry_id][source.run_id] = source.steps
    return found


def _together(sources: Iterable[Mapping[UUID, list[int]]]) -> dict[UUID, list[int]]:
    """A summary came from all runs and steps that what it stands for came from."""
    steps: dict[UUID, set[int]] = defaultdict(set)
    for of_entry in sources:
        for run, some in of_entry.items():
            steps[run].update(some)
    return {run: sorted(some) for run, some in steps.items()}


def _ask_for_summary(job: LearningJob, raw: KnowledgeSet) -> None:
    """Queue its summary; whoever carried this job out asks for waiting ones next."""
    KnowledgeSet.objects.filter(pk=raw.pk).freeze(raw.content_hash)
    job.refresh_from_db(fields=["spent"])
    left = None if job.max_cost is None else max(job.max_cost - job.spent, Decimal(0))
    LearningJob.objects.create(
        kind=LearningJob.Kind.SUMMARISE,
        model=job.model,
        params={"set": raw.pk, "name": str(raw)},
        max_cost=left,
        created_by=job.created_by,
    )


learns(LearningJob.Kind.EXTRACT, Extraction())
learns(LearningJob.Kind.SUMMARISE, Summary())
