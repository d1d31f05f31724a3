"""What the pages of web knowledge show, without what comes from runs that the reader judges."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

from django.core.paginator import Paginator
from django.db.models import Count, Prefetch, Q, QuerySet

from runs.catalogue.agents import shown_settings, value_in_words
from runs.catalogue.tasks.rows import task_set_choices
from runs.interface.filters import distinct_values, without_nul
from runs.interface.paging import BoundedPaginator
from runs.knowledge.web.sets import BUDGET, knowledge_given, runs_with
from runs.models import (
    AgentConfiguration,
    Experiment,
    KnowledgeEntry,
    KnowledgeSet,
    KnowledgeSource,
    LearningJob,
    Run,
    User,
)
from runs.models.experiments import HINTS_KEY as HINTS
from runs.models.experiments import KNOWLEDGE_KEY
from runs.models.parsing import ids_of
from runs.models.runs.run import hides_something
from runs.models.visibility import visibility_of
from webagent.agents.generic.agent import NAME as GENERIC

PER_PAGE = 50
MOST_RUNS = 50
MOST_JOBS = 10
MOST_SITES = 300
MOST_LEFT_OUT = 1000
LOOKED_AT = 500
"""Runs, the newest, among which the last one of the generic agent is looked for."""
KINDS = (LearningJob.Kind.EXTRACT, LearningJob.Kind.SUMMARISE)


def knowledge_list_context(
    user: User, *, run: Run | None, experiment: Experiment | None, query: Any
) -> dict[str, Any]:
    """Sets, all of them or those that have to do with a run or an experiment; jobs beside."""
    sets = KnowledgeSet.objects.select_related("created_by")
    had: frozenset[str] = frozenset()
    about = Run.objects.visible_to(user)
    if run is not None or experiment is not None:
        about = about.filter(pk=run.pk) if run is not None else about.filter(experiment=experiment)
        had = _had(about)
        sets = sets.filter(Q(pk__in=_taught(about, user)) | Q(content_hash__in=had))
    else:
        sets = sets.latest_versions()
    if site := query.get("site"):
        sets = sets.filter(site=site)
    page = BoundedPaginator(sets, PER_PAGE).get_page(query.get("page"))
    return {
        "page": page,
        "rows": listed_sets(page.object_list, user, had),
        "run": run,
        "experiment": experiment,
        "sites": distinct_values(KnowledgeSet, "site", MOST_SITES),
        "site": site or "",
        "jobs": _newest_jobs(),
        "entries": entries_of_run(run, user) if run is not None else [],
    }


def _newest_jobs() -> list[LearningJob]:
    """The newest of each kind by an index, then of both."""
    jobs = LearningJob.objects.select_related("created_by").order_by("-created_at")
    found = [job for kind in KINDS for job in jobs.filter(kind=kind)[:MOST_JOBS]]
    return sorted(found, key=lambda job: job.created_at, reverse=True)[:MOST_JOBS]


def listed_sets(
    sets: Iterable[KnowledgeSet], user: User, had: frozenset[str]
) -> list[dict[str, Any]]:
    """The rows for these sets, in a fixed number of queries.

    Args:
        had: hashes of what agents had that the page is about.
    """
    rows = list(sets)
    shown = KnowledgeEntry.objects.visible_to(user).filter(knowledge_set__in=rows)
    sources = KnowledgeSource.objects.filter(entry__in=shown.values("pk"))
    n_runs: dict[int, int] = dict(
        sources.order_by()
        .values_list("entry__knowledge_set")
        .annotate(n=Count("run", distinct=True))
    )
    used = _used(rows, user)
    return [
        {
            "knowledge_set": row,
            "is_over_budget": row.n_tokens > BUDGET,
            # That its entries came from, as far as the reader sees the entries.
            "n_runs": n_runs.get(row.pk, 0),
            "n_used": used.get(row.content_hash, 0),  # runs whose agents had it
            "was_had": row.content_hash in had,
        }
        for row in rows
    ]


def knowledge_context(knowledge_set: KnowledgeSet, user: User, query: Any) -> dict[str, Any]:
    """What the page of one set shows."""
    words = without_nul(query.get("q")).strip()
    mine = knowledge_set.entries.visible_to(user)
    found = mine.holding(words) if words else mine
    if run_id := next(iter(ids_of([query.get("run", "")])), None):
        found = found.filter(sources__run=run_id)
    at = query.get("at", "")
    number = query.get("page")
    if at.isdecimal() and number is None:  # the page that this entry is on
        number = found.filter(position__lt=int(at[:9])).count() // PER_PAGE + 1
    page = Paginator(_with_sources(found, user), PER_PAGE).get_page(number)
    runs = runs_with(knowledge_set, user)
    sources = KnowledgeSource.objects.filter(entry__in=mine.order_by().values("pk"))
    keys = list(sources.order_by().values_list("run", flat=True))
    taught = Run.objects.visible_to(user, keys)
    counts = mine.aggregate(
        n_shown=Count("pk"),
        n_off=Count("pk", filter=Q(is_enabled=False, problem="")),
        n_left_out=Count("pk", filter=~Q(problem="")),
    )
    return {
        "set": knowledge_set,
        "page": page,
        "q": words,
        "run_id": run_id,
        **counts,
        "n_hidden": knowledge_set.entries.count() - counts["n_shown"],
        "size": {
            "tokens": knowledge_set.n_tokens,
            "budget": BUDGET,
            "most": max(knowledge_set.n_tokens, BUDGET),
            "is_over": knowledge_set.n_tokens > BUDGET,
        },
        "versions": KnowledgeSet.objects.filter(
            name=knowledge_set.name, site=knowledge_set.site, kind=knowledge_set.kind
        ).select_related("created_by"),
        "summaries": _summaries_of(knowledge_set),
        "used_by": _used_rows(runs, taught),
        "n_used": runs.count(),
        "n_taught": taught.count(),
        "taught": taught.for_list().order_by("-created_at", "-pk")[:MOST_RUNS],
        "config_line": config_line(knowledge_set, user),
        "task_set": _task_set_of(taught),
    }


def _summaries_of(raw: KnowledgeSet) -> list[KnowledgeSet]:
    """What was made of the set, of another kind than itself."""
    made = [each for each in raw.children.order_by() if each.kind != raw.kind]
    return sorted(made, key=lambda each: each.place)


def _task_set_of(runs: QuerySet[Run]) -> str:
    """What the form of an experiment calls the only task set of these runs; empty for several."""
    names = runs.order_by().values_list("task__task_set__name", "task__task_set__version")
    sets = list(names.distinct()[:2])
    if len(sets) != 1:
        return ""
    [(name, version)] = sets
    return next((each for each in task_set_choices() if each in (name, f"{name} {version}")), "")


def entries_of_run(run: Run, user: User) -> Any:
    """What the run taught, newest set first."""
    entries = KnowledgeEntry.objects.visible_to(user).of_run(run.pk)
    return _with_sources(entries.select_related("knowledge_set"), user).order_by(
        "-knowledge_set__created_at", "knowledge_set", "position"
    )[:PER_PAGE]


def knowledge_facts(run: Run, user: User) -> dict[str, object]:
    """What the page of a run tells of the web knowledge that its agent had, if it had any.

    Nothing where the run hides something from the viewer: what an agent had tells which it is.
    """
    content = run.agent.knowledge_hash
    if not content or hides_something(run) or not user.has_perm("runs.view_knowledgeset"):
        return {}
    knowledge_set = KnowledgeSet.objects.filter(content_hash=content).first()
    given = knowledge_given(run)
    return {
        "knowledge_words": value_in_words(run.agent.config[KNOWLEDGE_KEY]),
        "knowledge_set": knowledge_set,
        "knowledge_given": given,
        "knowledge_left_out": _left_out(knowledge_set, given.left_out, user) if given else [],
    }


def _left_out(
    knowledge_set: KnowledgeSet | None, places: Sequence[int], user: User
) -> list[KnowledgeEntry]:
    """The entries at these places that the person may read."""
    if knowledge_set is None or not places:
        return []
    told = list(knowledge_set.entries.for_agents())
    shown = set(knowledge_set.entries.visible_to(user).order_by().values_list("pk", flat=True))
    named = [told[place] for place in places[:MOST_LEFT_OUT] if 0 <= place < len(told)]
    return [entry for entry in named if entry.pk in shown]


def config_line(knowledge_set: KnowledgeSet, user: User) -> str:
    """An agent with this knowledge, as the form of an experiment takes it.

    It is the generic agent that ran here last, as far as the person may know and without the
    hints of an experiment; where none of the newest runs has one, one whose model is still to be
    named. Where the default budget is too small it gets the relevant entries, or all of a raw set,
    whose effect only the whole shows.
    """
    config: dict[str, Any] = {"model": "…"}
    generic = AgentConfiguration.objects.filter(name=GENERIC).in_bulk()
    runs = Run.objects.visible_with(visibility_of(user)).not_anonymous()
    newest = runs.order_by("-created_at", "-pk").values_list("agent", flat=True)[:LOOKED_AT]
    last = next((generic[agent] for agent in newest if agent in generic), None)
    if last is not None:
        config = shown_settings(last.name, last.config)
        config.pop(HINTS, None)
    config[KNOWLEDGE_KEY] = str(knowledge_set)
    config["knowledge_tokens"] = config.get("knowledge_tokens", BUDGET)
    if knowledge_set.n_tokens > BUDGET and knowledge_set.is_raw:
        config["knowledge_tokens"] = None
    elif knowledge_set.n_tokens > BUDGET:
        config[KNOWLEDGE_KEY] = {"set": str(knowledge_set), "select": "relevant", "top": 10}
    return f"{GENERIC}:{json.dumps(config, ensure_ascii=False)}"


def _used_rows(runs: QuerySet[Run], taught: QuerySet[Run]) -> list[dict[str, Any]]:
    tasks = set(taught.order_by().values_list("task", flat=True))
    listed = runs.for_list().order_by("-created_at", "-pk")[:MOST_RUNS]  # type: ignore[attr-defined]
    return [{"run": run, "is_of_source_task": run.task_id in tasks} for run in listed]


def _used(sets: Iterable[KnowledgeSet], user: User) -> dict[str, int]:
    """How many runs had each content, by its hash."""
    hashes = {row.content_hash for row in sets}
    agents = AgentConfiguration.objects.filter(
        **{f"config__{KNOWLEDGE_KEY}__sha256__in": list(hashes)}
    )
    by_agent = {row.pk: row.knowledge_hash for row in agents.only("config")}
    runs = Run.objects.visible_to(user).not_anonymous().filter(agent__in=list(by_agent))
    used: dict[str, int] = {}
    for agent, n in runs.order_by().values_list("agent").annotate(n=Count("pk")):
        used[by_agent[agent]] = used.get(by_agent[agent], 0) + n
    return used


def _with_sources(entries: QuerySet[KnowledgeEntry], user: User) -> QuerySet[KnowledgeEntry]:
    """With the runs that each came from; every one of them may be known to the reader."""
    sources = KnowledgeSource.objects.select_related("run__task").only(
        "entry", "steps", "run__task__external_id"
    )
    parents = KnowledgeEntry.objects.visible_to(user).only("intent", "knowledge_set", "position")
    return entries.prefetch_related(
        Prefetch("sources", queryset=sources), Prefetch("parents", queryset=parents)
    )


def _taught(runs: QuerySet[Run], user: User) -> QuerySet[Any, Any]:
    """Ids of sets with entries from these runs that the person may read."""
    shown = KnowledgeEntry.objects.visible_to(user).filter(
        sources__run__in=runs.order_by().values("pk")
    )
    return shown.order_by().values("knowledge_set")


def _had(runs: Any) -> frozenset[str]:
    """Hashes of what the agents of these runs had, as far as agents are not hidden."""
    agents = AgentConfiguration.objects.filter(
        pk__in=runs.not_anonymous().order_by().values("agent"),
        **{f"config__{KNOWLEDGE_KEY}__isnull": False},
    )
    return frozenset(known for each in agents if (known := each.knowledge_hash))
