"""Pushing whole runs: an archive in any format that is known, imported in the background."""

from contextlib import closing
from typing import Any
from uuid import UUID

from django.urls import reverse
from ninja import Router

from runs.api.authentication import ApiRequest, Bearer
from runs.api.bodies import spooled
from runs.api.idempotency import Answer, answer_once
from runs.api.problems import not_found
from runs.api.push import ImportOut, import_out, refusals
from runs.imports.services import start_import
from runs.models import ImportJob, Scope

router = Router(tags=["push"])
IMPORTS = Bearer(Scope.RUNS_WRITE, "runs.import_run")
BODY = {
    "requestBody": {
        "required": True,
        "content": {"application/zip": {"schema": {"type": "string", "format": "binary"}}},
    }
}


@router.post(
    "/imports",
    response={202: ImportOut},
    auth=IMPORTS,
    operation_id="import_runs",
    summary="Push whole runs",
    openapi_extra=BODY,
)
def import_archive(request: ApiRequest) -> Any:
    """A zip of runs in the native format, or in any other that is known.

    The same content is stored once, however often it is sent.
    """
    with closing(spooled(request, "push.zip")) as file, refusals("body"):

        def effect() -> Answer:
            job = start_import(file=file, user=request.user, format="auto")
            place = reverse("api:read_import", args=[job.pk])
            return Answer(202, import_out(job), location=place)

        return answer_once(request, effect)


@router.get(
    "/imports/{uuid:job_id}",
    response=ImportOut,
    auth=IMPORTS,
    operation_id="read_import",
    summary="How far an import is",
)
def read_import(request: ApiRequest, job_id: UUID) -> Any:
    """One import of the caller's own."""
    job = ImportJob.objects.filter(created_by=request.user, pk=job_id).first()
    if job is None:
        raise not_found("import")
    return import_out(job)
