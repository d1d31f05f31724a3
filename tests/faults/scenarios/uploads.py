"""Uploads that break off or stall on their way to the real web server."""

import time

from runs.models import ImportJob
from tests.faults.aftermath import what_is_wrong
from tests.faults.findings import Findings
from tests.faults.scenarios import Place, Scenario
from tests.faults.test_files import BOUNDARY, form
from tests.faults.web import Visitor, Web
from tests.runs.factories import make_user

KIND = f"multipart/form-data; boundary={BOUNDARY}"
PATIENCE_S = 3.0
STALLED = 8
"""As many as there are threads that answer."""


def broken_uploads(place: Place, times: int, findings: Findings) -> None:
    """Uploads of 64 MB are cut at 20 points; then every thread gets one of which nothing comes."""
    with place.site() as site:
        site.environment["UPLOAD_PATIENCE_S"] = str(PATIENCE_S)
        web = Web(site)
        web.start()
        try:
            web.wait()
            person = Visitor(web.port, make_user())
            body = form(b"PK\x03\x04" + bytes(64 << 20))
            for cut in range(times):
                part = body[: len(body) * cut // times]
                person.begin("/imports/", KIND, part, len(body)).close()
            stalled = [
                person.begin("/imports/", KIND, body[:70_000], len(body)) for _ in range(STALLED)
            ]
            began = time.monotonic()
            if Visitor(web.port).get("/login/").status != 200:
                findings.complain(["the log-in page did not come"])
            findings.recoveries_s.append(time.monotonic() - began)
            for connection in stalled:
                connection.close()
            findings.times = times + STALLED
            time.sleep(1)
            left = [*(site.data_dir / "uploads").iterdir(), *(site.data_dir / "tmp").iterdir()]
            findings.left_over = len(left)
            findings.complain([f"left over: {path.name}" for path in left])
            findings.complain([f"import {job.pk} was begun" for job in ImportJob.objects.all()])
        finally:
            web.kill()
        findings.complain(what_is_wrong(site.data_dir))
    findings.check()


UPLOADS = (
    Scenario(
        "uploads that break off or stall",
        10,
        "an upload of 64 MB is cut off, at 20 places; then as many stall as there are threads",
        20,
        broken_uploads,
    ),
)
