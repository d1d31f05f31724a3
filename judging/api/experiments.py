"""Figures of experiments, by one source of verdicts at a time; replications beside their papers."""

from typing import Annotated, Any

from django.shortcuts import get_object_or_404
from ninja import Query, Router
from pydantic import BaseModel, Field

from judging.analysis.experiments.access import PERMISSIONS, facts_of, record_verdicts, scope_of
from judging.analysis.experiments.figures import Amount, Configuration
from judging.analysis.experiments.reports import registry_of
from judging.api.figures import FigureOut, TableOut, figure_out, table_out
from judging.replication.reports import ReplicationFacts
from judging.replication.sources import shown_to
from judging.replication.study_parts import StudyFileError
from runs.api.authentication import ApiRequest, Bearer
from runs.api.bodies import filled
from runs.api.paging import RowId, known_only
from runs.api.problems import invalid, not_found
from runs.models import Scope

_READS = Bearer(Scope.VERDICTS_READ, *PERMISSIONS)
router = Router(tags=["experiments"], auth=_READS)
replications_router = Router(tags=["replications"], auth=_READS)


class SourceChoice(BaseModel):
    """Whose verdicts they are."""

    verdict: str | None = Field(
        None,
        max_length=60,
        description="reward, reference or evaluator:ID; by default the page's own choice.",
    )


class SourceOut(BaseModel):
    """A source of verdicts."""

    key: str
    name: str
    rule: str = Field(description="What counts as success by it.")


class SourceChoiceOut(BaseModel):
    """A source that there is, with how many counted runs it says something of."""

    key: str
    name: str
    verdicts: int


class AmountOut(BaseModel):
    """What runs took, of those of which it is known."""

    total: float | None
    mean: float | None
    known: int
    runs: int


class ConfigurationOut(BaseModel):
    """One agent configuration."""

    agent: int
    name: str
    tasks: int
    counted: int
    decided: int
    successes: int
    failures: int
    undecided: int
    accuracy: FigureOut = Field(description="Successes of those decided, Wilson's interval.")
    standard_error: FigureOut = Field(description="Clustered by task.")
    seconds: AmountOut
    steps: AmountOut
    cost: AmountOut = Field(description="In US dollars, of the counted runs.")
    spent: AmountOut = Field(description="In US dollars, of everything.")


class FiguresOut(BaseModel):
    """What each configuration of an experiment achieved."""

    experiment: int
    source: SourceOut
    choices: list[SourceChoiceOut]
    counted: int
    decided: int
    standings: dict[str, int] = Field(description="All runs by where they stand.")
    configurations: list[ConfigurationOut]


@router.get(
    "/experiments/{experiment_id}/figures",
    response=FiguresOut,
    summary="Read the figures of an experiment",
)
def read_experiment_figures(
    request: ApiRequest, experiment_id: RowId, source: Annotated[SourceChoice, Query()]
) -> Any:
    """Success, steps, time and cost of every agent configuration."""
    known_only(request, SourceChoice)
    facts = facts_of(request, scope_of(request, experiment_id))
    figures = facts.figures
    return filled(
        FiguresOut,
        figures,
        experiment=facts.experiment.pk,
        source=filled(SourceOut, facts.source),
        choices=[
            filled(SourceChoiceOut, each.source, verdicts=each.verdicts) for each in facts.choices
        ],
        standings={standing.value: n for standing, n in sorted(figures.standings.items())},
        configurations=[_configuration(each) for each in figures.configurations],
    )


@router.get(
    "/experiments/{experiment_id}/tables/{name}",
    response=TableOut,
    summary="Read a table of an experiment",
)
def read_experiment_table(
    request: ApiRequest, experiment_id: RowId, name: str, source: Annotated[SourceChoice, Query()]
) -> Any:
    """One of the reports on the experiment, its progress or its hints, by the name of its file."""
    known_only(request, SourceChoice)
    found = registry_of(name)
    if found is None:
        raise not_found("table")
    registry, key = found
    facts = facts_of(request, scope_of(request, experiment_id))
    if registry.entries[key].lists_runs:
        runs = facts.scope.visible.values_list("pk", flat=True)
        record_verdicts(request, facts.source, runs)
    return table_out(registry.make(key, facts))


def _amount(amount: Amount) -> AmountOut:
    total = None if amount.total is None else float(amount.total)
    return filled(AmountOut, amount, total=total)


def _configuration(each: Configuration) -> ConfigurationOut:
    return filled(
        ConfigurationOut,
        each,
        agent=each.agent.pk,
        accuracy=figure_out(each.accuracy.value, each.accuracy.interval),
        standard_error=figure_out(each.clustered.standard_error),
        **{name: _amount(getattr(each, name)) for name in ("seconds", "steps", "cost", "spent")},
    )


class ReplicationOut(BaseModel):
    """A published study that is replicated here."""

    id: int
    name: str
    paper: str = Field(description="The title of the paper.")
    file: str = Field(description="The study file, TOML.")
    sha256: str = Field(description="Of the study file.")
    tables: list[str] = Field(description="The names of its tables.")
    problem: str = Field(description="Why it stands still; empty while it goes on.")


@replications_router.get(
    "/replications/{replication_id}",
    response=ReplicationOut,
    operation_id="read_replication",
    summary="Read a replication",
)
def read_replication(request: ApiRequest, replication_id: RowId) -> Any:
    """The study file, and which tables it has."""
    known_only(request)
    facts = _replication_facts(request, replication_id)
    row = facts.replication
    return filled(
        ReplicationOut,
        row,
        paper=facts.file.paper.title,
        file=row.content,
        tables=list(facts.registry.entries),
    )


@replications_router.get(
    "/replications/{replication_id}/tables/{name}",
    response=TableOut,
    operation_id="read_replication_table",
    summary="Read a table of a replication",
)
def read_replication_table(request: ApiRequest, replication_id: RowId, name: str) -> Any:
    """A table of the paper beside our figures, the plan, the deviations or the versions."""
    known_only(request)
    facts = _replication_facts(request, replication_id)
    if name not in facts.registry:
        raise not_found("table")
    return table_out(facts.report(name))


def _replication_facts(request: ApiRequest, replication_id: int) -> ReplicationFacts:
    """Raises Problem where the stored file cannot be read."""
    row = get_object_or_404(shown_to(request.user), pk=replication_id)
    facts = ReplicationFacts(row, request.user)
    try:
        facts.check_file()
    except StudyFileError as error:
        where = ".".join(filter(None, ("file", error.field)))
        detail = "The stored study file cannot be read here; see errors."
        raise invalid((where, error.reason), detail=detail) from None
    return facts
