"""One piece of queued work of each kind of worker, and whether a worker has taken it."""

import http.client
import itertools
import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from unittest.mock import patch

from django.conf import settings

from judging.models import EvaluationBatch
from runs.models import ImportJob, Run, User
from tests.faults.traffic import a_waiting_run, again, send_file, zip_of
from tests.faults.web import Visitor
from tests.judging.evaluating.asked_models import always, models_file
from tests.judging.evaluating.test_batch_workers import queued
from tests.runs.live_workers import Site, wait_until
from tests.webagent.llm.stub import running_stub

WEB_WITHIN_S = 60
STEPS = 15
Work = Mapping[str, Callable[[], bool]]
"""Whether a worker has taken it, by queue."""
_numbers = itertools.count(10_000)


@dataclass(frozen=True)
class Queuing:
    """Queues work on a site whose web server listens on the port."""

    port: int
    person: User

    def one_of_each(self) -> Work:
        """Work that was queued now, by queue: whether a worker has claimed it since."""
        batch = again(lambda: queued(f"Batch {secrets.token_hex(4)}", 1))
        run = again(lambda: a_waiting_run(STEPS))
        name = self._upload()
        return {
            "browser": Run.objects.filter(pk=run.pk).exclude(claimed_at=None).exists,
            "default": ImportJob.objects.filter(file_name=name).exclude(claimed_at=None).exists,
            "judge": EvaluationBatch.objects.filter(pk=batch.pk).exclude(claimed_at=None).exists,
        }

    def _upload(self) -> str:
        """Send a file until the web server takes it; its name."""
        visitor, content = Visitor(self.port, self.person), zip_of(next(_numbers))
        name = f"{secrets.token_hex(8)}.zip"

        def is_taken() -> bool:
            try:
                return "/imports/" in send_file(visitor, content, name).location
            except (OSError, http.client.HTTPException):
                return ImportJob.objects.filter(file_name=name).exists()

        wait_until(is_taken, WEB_WITHIN_S, "an upload that the web server takes")
        return name


@contextmanager
def judges_answer(site: Site) -> Iterator[None]:
    """A model that the judges of the site can ask; start the site inside."""
    with running_stub() as stub:
        stub.reply = always(True)
        file = models_file(site.data_dir, stub.openai_url)
        site.environment.update({"MODELS_FILE": str(file), "JUDGE_MODEL": "stub-judge"})
        with patch.multiple(settings.ENV, MODELS_FILE=file, JUDGE_MODEL="stub-judge"):
            yield
