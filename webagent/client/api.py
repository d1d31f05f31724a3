"""Asking the API of one server."""

import email.utils
import http.client
import json
import random
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

Json = dict[str, Any]

TRIES = 6
LONGEST_WAIT_S = 60.0
AGAIN = frozenset({429, 500, 502, 503, 504})


class ApiError(Exception):
    """The server refused a request."""

    def __init__(self, status: int, problem: Mapping[str, Any]) -> None:
        self.status = status
        self.kind = str(problem.get("type", "")).rpartition(":")[2]
        self.detail = str(problem.get("detail", "")) or f"status {status}"
        self.errors: dict[str, str] = {
            str(each.get("field")): str(each.get("reason")) for each in problem.get("errors") or ()
        }
        told = "; ".join(f"{field}: {reason}" for field, reason in self.errors.items())
        super().__init__(f"{status}: {self.detail}" + (f" ({told})" if told else ""))


class UnreachableError(Exception):
    """No answer came, however often the request was sent."""


class Client:
    """Asks one server, in the name of one token.

    A request that got no answer, or that the server had no time for (429, 5xx), is sent again with
    growing pauses, or after as long as the server asks for. It carries a key, so that it has its
    effect once.
    """

    def __init__(
        self, url: str, token: str, *, timeout_s: float = 30.0, tries: int = TRIES
    ) -> None:
        self.url = url.rstrip("/")
        self._token = token
        self._timeout_s = timeout_s
        self._tries = tries

    # Reading and launching

    def runs(self, **filters: Any) -> Iterator[Json]:
        """Every run that the token's owner may see, newest first."""
        return self.pages("/runs", **filters)

    def run(self, run_id: str) -> Json:
        """One run."""
        return self.ask("GET", f"/runs/{run_id}")

    def steps(self, run_id: str) -> Iterator[Json]:
        """The steps of a run, in order."""
        return self.pages(f"/runs/{run_id}/steps")

    def studies(self) -> Iterator[Json]:
        """The studies that the token's owner has a part in."""
        return self.pages("/studies")

    def verdicts(self, study: int, **filters: Any) -> Iterator[Json]:
        """The reference verdicts of a study."""
        return self.pages(f"/studies/{study}/verdicts", **filters)

    def evaluations(self, study: int, **filters: Any) -> Iterator[Json]:
        """What evaluators said of the runs of a study."""
        return self.pages(f"/studies/{study}/evaluations", **filters)

    def matrices(self, study: int, **filters: Any) -> Json:
        """Each evaluator against the reference verdicts of a study."""
        return self.ask("GET", f"/studies/{study}/matrices", query=filters)

    def launch_reruns(self, runs: Sequence[str], **options: Any) -> Json:
        """Run these again: agent, trials, seeds, max_steps, policy, experiment."""
        return self.ask("POST", "/reruns", {"runs": list(runs), **options})

    def reruns(self, launch: str) -> Json:
        """How far runs are that were launched together."""
        return self.ask("GET", f"/reruns/{launch}")

    def launch_evaluation(self, evaluator: str, **what: Any) -> Json:
        """Evaluate a study or some runs: study or runs, model, limits of cost."""
        return self.ask("POST", "/batches", {"evaluator": evaluator, **what})

    def evaluation(self, batch: str) -> Json:
        """How far a launched evaluation is."""
        return self.ask("GET", f"/batches/{batch}")

    def pages(self, path: str, **filters: Any) -> Iterator[Json]:
        """Every item of a list, whatever it is of, page by page."""
        cursor = None
        while True:
            wanted = {**filters, "cursor": cursor}
            page = self.ask("GET", path, query=wanted)
            yield from page["items"]
            cursor = page.get("next")
            if not cursor:
                return

    # Pushing

    def open_run(self, head: Json, *, key: str | None = None) -> Json:
        """Begin a run; `id` of the answer is its own. See `docs/pushing.md` for its words."""
        return self.ask("POST", "/runs", head, key=key)

    def push_step(self, run_id: str, index: int, step: Json) -> Json:
        """Add a step; the same one twice is kept once."""
        return self.ask("PUT", f"/runs/{run_id}/steps/{index}", step)

    def heartbeat(self, run_id: str) -> Json:
        """Say that the run goes on."""
        return self.ask("PUT", f"/runs/{run_id}/heartbeat")

    def end_run(self, run_id: str, ending: Json) -> Json:
        """End the run; from then on it never changes."""
        return self.ask("PUT", f"/runs/{run_id}/end", ending)

    def push_state(self, run_id: str) -> Json:
        """Where a pushed run stands: which step is awaited, whether somebody asked to stop."""
        return self.ask("GET", f"/runs/{run_id}/push")

    def import_archive(self, archive: Path, *, wait_s: float = 0) -> Json:
        """Push whole runs: a zip in the native or any other known format.

        Waits up to `wait_s` seconds for its end; ask `/imports/ID` for how far it is.
        """
        job = self.ask("POST", "/imports", archive.read_bytes(), kind="application/zip")
        deadline = time.monotonic() + wait_s
        while job["state"] in ("queued", "running") and time.monotonic() < deadline:
            time.sleep(0.5)
            job = self.ask("GET", f"/imports/{job['id']}")
        return job

    # One request

    def ask(
        self,
        method: str,
        path: str,
        body: Json | bytes | None = None,
        *,
        query: Mapping[str, Any] | None = None,
        kind: str = "application/json",
        key: str | None = None,
        tries: int | None = None,
    ) -> Json:
        """The answer to one request.

        Raises:
            ApiError: the server refused it.
            UnreachableError: no answer came.
        """
        given = {name: str(value) for name, value in (query or {}).items() if value is not None}
        address = f"{self.url}/api/v1{path}" + (
            f"?{urllib.parse.urlencode(given)}" if given else ""
        )
        headers = {"Authorization": f"Bearer {self._token}", "Accept": "application/json"}
        data = body if isinstance(body, bytes) else None
        if data is None and body is not None:
            data = json.dumps(body, allow_nan=False, ensure_ascii=False).encode("utf-8", "replace")
        if data is not None:
            headers["Content-Type"] = kind
        if method == "POST":
            headers["Idempotency-Key"] = key or uuid.uuid4().hex
        request = urllib.request.Request(address, data, headers, method=method)  # noqa: S310  # the caller's own server
        return self._patiently(request, tries or self._tries)

    def _patiently(self, request: urllib.request.Request, tries: int) -> Json:
        wait_s, why = 0.0, ""
        for again in range(tries):
            time.sleep(wait_s)
            wait_s = min(0.5 * 2**again, LONGEST_WAIT_S) * random.uniform(0.75, 1.25)  # noqa: S311
            try:
                with _HERE.open(request, timeout=self._timeout_s) as answer:
                    return dict(json.load(answer))
            except urllib.error.HTTPError as error:
                refused = ApiError(error.code, _problem(error))
                if error.code not in AGAIN:
                    raise refused from None
                why = str(refused)
                wait_s = max(wait_s, _asked_to_wait(error.headers.get("Retry-After")))
            except (OSError, http.client.HTTPException, ValueError) as error:
                # No answer, or one that breaks off.
                why = str(error)
        raise UnreachableError(f"{request.full_url} after {tries} tries: {why}")


class _NowhereElse(urllib.request.HTTPRedirectHandler):
    """Follows no redirect: the token is for one server alone."""

    def redirect_request(self, *_: Any) -> None:
        return None


_HERE = urllib.request.build_opener(_NowhereElse)


def _problem(error: urllib.error.HTTPError) -> Json:
    try:
        told = json.load(error)
    except (OSError, http.client.HTTPException, ValueError):
        return {"detail": error.reason}
    return told if isinstance(told, dict) else {"detail": error.reason}


def _asked_to_wait(words: str | None) -> float:
    """Seconds of a `Retry-After`: a number of them, or a date."""
    if not words:
        return 0.0
    if words.isdecimal():
        return min(float(words), LONGEST_WAIT_S)
    try:
        until = email.utils.parsedate_to_datetime(words)
    except ValueError:
        return 0.0
    return min(max((until - datetime.now(UTC)).total_seconds(), 0.0), LONGEST_WAIT_S)
