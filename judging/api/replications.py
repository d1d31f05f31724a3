"""Replications: which there are, and the paper's tables beside our own."""

from typing import Any

from django.shortcuts import get_object_or_404
from ninja import Router
from pydantic import BaseModel, Field

from judging.analysis.experiments.access import PERMISSIONS
from judging.api.figures import TableOut, table_out
from judging.replication.reports import ReplicationFacts
from judging.replication.sources import shown_to
from judging.replication.study_parts import StudyFileError
from runs.api.authentication import ApiRequest, Bearer
from runs.api.bodies import filled
from runs.api.paging import RowId, known_only
from runs.api.problems import invalid, not_found
from runs.models import Scope

router = Router(tags=["replications"], auth=Bearer(Scope.VERDICTS_READ, *PERMISSIONS))


class ReplicationOut(BaseModel):
    """A published study that is replicated here."""

    id: int
    name: str
    paper: str = Field(description="The title of the paper.")
    file: str = Field(description="The study file, TOML.")
    sha256: str = Field(description="Of the study file.")
    tables: list[str] = Field(description="The names of its tables.")
    problem: str = Field(description="Why it stands still; empty while it goes on.")


@router.get(
    "/replications/{replication_id}",
    response=ReplicationOut,
    operation_id="read_replication",
    summary="Read a replication",
)
def read_replication(request: ApiRequest, replication_id: RowId) -> Any:
    """The study file, and which tables it has."""
    known_only(request)
    facts = _facts(request, replication_id)
    row = facts.replication
    return filled(
        ReplicationOut,
        row,
        paper=facts.file.paper.title,
        file=row.content,
        tables=list(facts.registry.entries),
    )


@router.get(
    "/replications/{replication_id}/tables/{name}",
    response=TableOut,
    operation_id="read_replication_table",
    summary="Read a table of a replication",
)
def read_replication_table(request: ApiRequest, replication_id: RowId, name: str) -> Any:
    """A table of the paper beside our figures, the plan, the deviations or the versions."""
    known_only(request)
    facts = _facts(request, replication_id)
    if name not in facts.registry:
        raise not_found("table")
    return table_out(facts.report(name))


def _facts(request: ApiRequest, replication_id: int) -> ReplicationFacts:
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
