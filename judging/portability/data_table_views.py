"""Tables of data to take away, of a study or an experiment."""

from __future__ import annotations

import tempfile

from django.conf import settings
from django.http import FileResponse, Http404
from django.http.response import HttpResponseBase
from django.views.decorators.http import require_safe

from judging.analysis.experiments.access_views import for_readers
from judging.analysis.experiments.population import Scope
from judging.models import Study, StudyItem
from judging.portability.judgements.data_tables import (
    DATA_TABLES,
    Contents,
    DataTable,
    run_contents,
    study_contents_for,
)
from judging.portability.judgements.table_writing import DATA_FORMATS
from judging.studies.access import for_auditors, record_unblindings
from runs.interface.fragments import AppRequest


@require_safe
@for_auditors
def study_data(request: AppRequest, study: Study, name: str, ending: str) -> HttpResponseBase:
    """Labels, verdicts, evaluations or figures of a study as a file."""
    table = _table(name, ending)
    return _answer(request, table, study_contents_for(request.user, study), ending)


@require_safe
@for_readers
def experiment_data(request: AppRequest, scope: Scope, name: str, ending: str) -> HttpResponseBase:
    """The same of those runs of an experiment that the person may know of."""
    table = _table(name, ending)
    if table.of_study:
        raise Http404
    return _answer(request, table, run_contents(scope.told), ending)


def _table(name: str, ending: str) -> DataTable:
    if name not in DATA_TABLES or ending not in DATA_FORMATS:
        raise Http404
    return DATA_TABLES[name]


def _answer(
    request: AppRequest, table: DataTable, contents: Contents, ending: str
) -> HttpResponseBase:
    if table.tells_judgements:
        items = StudyItem.objects.filter(run__in=contents.runs.order_by().values("pk"))
        record_unblindings(user=request.user, items=items, reason=f"table of {table.name}")
    # Has no name in the file system, so nothing is left of it when the answer has been sent.
    file = tempfile.TemporaryFile(dir=settings.FILE_UPLOAD_TEMP_DIR)  # noqa: SIM115 (the answer closes it)
    DATA_FORMATS[ending].write(file, table.columns, table.rows(contents))
    file.seek(0)
    response = FileResponse(
        file,
        as_attachment=True,
        filename=f"{table.name}.{ending}",
        content_type=DATA_FORMATS[ending].content_type,
    )
    response["Cache-Control"] = "private, no-store"
    return response
