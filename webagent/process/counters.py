"""What this process counts as it happens. Labels have few values: no ids, no names of people.

Several processes count into one folder where the environment names one to Prometheus' client
(`PROMETHEUS_MULTIPROC_DIR`); a worker that is asked for its counts makes one for its children.
"""

import atexit
import os
import shutil
import tempfile

from django.conf import settings

from webagent.llm.failures import RequestAttempt, watch
from webagent.trajectory.records import RunRecord

FOLDER = "PROMETHEUS_MULTIPROC_DIR"


def _use_folder() -> None:
    """Count into an empty folder, which is gone with this program."""
    folder = os.environ[FOLDER] = tempfile.mkdtemp(prefix="crosscheck-metrics-")
    atexit.register(_remove, folder, os.getpid())


def _remove(folder: str, owner: int) -> None:
    if os.getpid() == owner:  # not a child of it
        shutil.rmtree(folder, ignore_errors=True)


if settings.ENV.WORKER_METRICS_PORT and FOLDER not in os.environ:
    _use_folder()

# The client looks at the folder when it is imported.
from prometheus_client import Counter, Histogram, disable_created_metrics  # noqa: E402 (reads it)

disable_created_metrics()  # type: ignore[no-untyped-call]  # has no types

requests = Counter(
    "crosscheck_requests", "Requests answered, by view.", ["view", "method", "status"]
)
request_seconds = Histogram(
    "crosscheck_request_seconds",
    "Time until an answer began, by view.",
    ["view"],
    buckets=(0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30),
)
attempts = Counter(
    "crosscheck_attempts", "Attempts at runs that ended here.", ["status", "end_reason", "fault"]
)
leases_expired = Counter(
    "crosscheck_leases_expired", "Work taken from workers that gave no sign of life.", ["kind"]
)
imported_runs = Counter("crosscheck_imported_runs", "Runs that imports met.", ["result"])
evaluations = Counter(
    "crosscheck_evaluations", "Evaluations, by kind of evaluator.", ["kind", "result"]
)
llm_tries = Counter("crosscheck_llm_tries", "Tries at requests.", ["model", "result"])
llm_retries = Counter("crosscheck_llm_retries", "Tries after the first.", ["model"])
llm_tokens = Counter("crosscheck_llm_tokens", "Tokens read and said.", ["model", "direction"])
llm_cost = Counter("crosscheck_llm_cost_dollars", "What the replies cost.", ["model"])
llm_seconds = Histogram(
    "crosscheck_llm_request_seconds",
    "Time of a try at a request to a language model.",
    ["model"],
    buckets=(0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600),
)
storage_errors = Counter("crosscheck_storage_errors", "Files that could not be used.", ["verb"])


def count_attempt(status: str, record: RunRecord) -> None:
    """One attempt at a run that ended in this process."""
    blamed = record.error.blamed if record.error else None
    attempts.labels(status, record.end_reason or "", blamed or "").inc()


def count_try(tried: RequestAttempt) -> None:
    """One try at a request to a language model."""
    llm_tries.labels(tried.model, tried.result).inc()
    llm_retries.labels(tried.model).inc(tried.is_retry)
    llm_seconds.labels(tried.model).observe(tried.seconds)
    llm_tokens.labels(tried.model, "read").inc(tried.usage.input_tokens)
    llm_tokens.labels(tried.model, "said").inc(tried.usage.output_tokens)
    llm_cost.labels(tried.model).inc(float(tried.cost or 0))


watch(count_try)
