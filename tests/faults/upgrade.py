"""The database is migrated by this version while an older one serves people and carries out runs.

    scripts/with_scratch.sh python scripts/with_services.py \\
        python -m tests.faults.upgrade COMMIT [--harness COMMIT] [--times 3]

The older version is taken from git; people and what is compared afterwards are of its own tests,
or of those of `--harness` where it has none. Ends with 1 if a request or anything sent was lost.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import subprocess
import sys
import tarfile
import time
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parents[2]
BEFORE_S, AFTERWARDS_S = 5.0, 10.0
TRIES = 6
"""As compose makes: a migration that waits for a lock for two seconds gives up and comes again."""
LOCK_TIMEOUT = "-c lock_timeout=2s"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.faults.upgrade")
    parser.add_argument("commit", help="the older version")
    parser.add_argument("--harness", help="where to take its tests from; the same by default")
    parser.add_argument("--times", type=int, default=3)
    asked = parser.parse_args()
    broken = 0
    for _ in range(asked.times):
        with TemporaryDirectory(prefix="upgrade-") as folder:
            Path(folder).chmod(0o755)
            older = Path(folder) / "older"
            _check_out(asked.commit, older)
            if asked.harness:
                _check_out(asked.harness, older, "tests", "scripts")
            environment = os.environ | {
                "PYTHONPATH": str(older),
                "DJANGO_SETTINGS_MODULE": "webagent.settings.test",
            }
            command = [sys.executable, __file__, "--within", str(Path(folder) / "site")]
            broken += subprocess.run(command, cwd=older, env=environment, check=False).returncode
    return 1 if broken else 0


def _check_out(commit: str, folder: Path, *parts: str) -> None:
    command = ["git", "archive", commit, *parts]
    told = subprocess.run(command, cwd=ROOT, capture_output=True, check=True)
    with tarfile.open(fileobj=io.BytesIO(told.stdout)) as archive:
        archive.extractall(folder, filter="data")


def _migrate(environment: dict[str, str]) -> tuple[int, float]:
    """How many tries this version's migrations took, and how many seconds.

    Raises:
        AssertionError: they were not applied.
    """
    told = environment | {"PYTHONPATH": str(ROOT), "PGOPTIONS": LOCK_TIMEOUT}
    told["DJANGO_SETTINGS_MODULE"] = "webagent.settings.test"
    command = [sys.executable, "manage.py", "migrate", "--no-input", "--verbosity", "0"]
    began = time.monotonic()
    for number in range(1, TRIES + 1):
        done = subprocess.run(command, cwd=ROOT, env=told, capture_output=True, check=False)
        if done.returncode == 0:
            return number, time.monotonic() - began
        sys.stdout.write(done.stderr.decode(errors="replace")[-300:] + "\n")
    raise AssertionError("the migrations were not applied")


def within(folder: Path) -> int:
    """The scenario itself, by the older version's own tests."""
    import django

    django.setup()

    from tests.faults.findings import Findings, ground
    from tests.faults.scenarios import Place
    from tests.faults.storm import Storm
    from tests.faults.web import Reply, Visitor

    replies: Counter[str] = Counter()
    ask = Visitor._ask

    def counted(self: Visitor, *arguments: object) -> Reply:
        try:
            reply: Reply = ask(self, *arguments)  # type: ignore[arg-type]
        except OSError:
            replies["none"] += 1
            raise
        replies[f"{reply.status // 100}xx"] += 1
        return reply

    findings = Findings()
    database, _ = ground()  # the services', PostgreSQL and Redis
    place = Place(folder, database)
    with place.redis() as redis, place.site(redis) as site:
        storm = Storm(site, findings, redis)
        with storm.at_work(labellers=3, uploaders=2, runs=True):
            Visitor._ask = counted  # type: ignore[method-assign, assignment]
            time.sleep(BEFORE_S)
            tries, seconds = _migrate(site.environment)
            time.sleep(AFTERWARDS_S)
            Visitor._ask = ask  # type: ignore[method-assign]
        told = site.environment | {"PYTHONPATH": str(ROOT)}
        command = [sys.executable, "manage.py", "check_integrity"]
        told["DJANGO_SETTINGS_MODULE"] = "webagent.settings.test"
        whole = subprocess.run(command, cwd=ROOT, env=told, capture_output=True, check=False)
    if whole.returncode:
        findings.complain([(whole.stdout + whole.stderr).decode(errors="replace")[-400:]])
    if failed := replies["5xx"] + replies["none"]:
        findings.complain([f"{failed} requests failed"])
    found = {
        "migrated in s": round(seconds, 1),
        "tries": tries,
        "replies": dict(replies),
        "acknowledged": findings.acknowledged,
        "lost": findings.lost,
        "doubled": findings.doubled,
        "problems": findings.problems[:5],
    }
    sys.stdout.write(json.dumps(found) + "\n")
    return 1 if findings.problems else 0


if __name__ == "__main__":
    sys.exit(within(Path(sys.argv[2])) if sys.argv[1] == "--within" else main())
