"""`manage.py serve` on a site of its own, and the processes that it consists of."""

import contextlib
import http.client
import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

from scripts.with_services import free_port
from tests.runs.live_workers import ROOT, START_WITHIN_S, Site, wait_until

STOP_WITHIN_S = 60


@dataclass
class Served:
    """A running `manage.py serve`."""

    site: Site
    port: int = field(default_factory=free_port)
    process: subprocess.Popen[bytes] | None = None

    @property
    def log(self) -> Path:
        return self.site.data_dir / "serve.log"

    @property
    def words(self) -> str:
        return self.log.read_text(errors="replace")

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    def start(self, *options: str, **environment: str) -> None:
        """Start it, without waiting for it."""
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "manage.py", "serve", *options],
                cwd=ROOT,
                env={**self.site.environment, "PORT": str(self.port), **environment},
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def wait(self) -> None:
        """Wait till it says that it is ready."""
        wait_until(lambda: "is ready" in self.words, START_WITHIN_S, f"the start: {self.words}")

    def stop(self) -> int:
        """Tell it to stop, and wait for it; its exit code."""
        assert self.process is not None
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.process.wait(STOP_WITHIN_S)

    def kill(self) -> None:
        """kill -9 to whatever is left of it."""
        for pid in processes_of(self.site):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if self.process is not None:
            self.process.wait()

    def health(self, path: str = "/healthz") -> tuple[int, dict[str, str]]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        with contextlib.closing(connection):
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())

    def is_well(self) -> bool:
        try:
            return self.health()[0] == 200
        except (OSError, http.client.HTTPException):
            return False


def processes_of(site: Site) -> dict[int, str]:
    """Every process of the site by its id, with its command; known by what it inherited."""
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            environment = (folder / "environ").read_bytes()
            if f"DATA_DIR={site.data_dir}".encode() in environment:
                command = (folder / "cmdline").read_bytes().replace(b"\0", b" ")
                found[int(folder.name)] = command.decode(errors="replace")[:400]
    return found


def name_of(pid: int) -> str:
    """What the process calls itself; "" if there is none."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/comm").read_text().strip()
    return ""
