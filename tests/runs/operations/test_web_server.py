"""The web server as the image starts it: told to stop, it answers what it has begun."""

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from scripts.with_services import free_port
from tests.faults.findings import Findings
from tests.runs.live_workers import ROOT, wait_until
from tests.runs.operations.test_probes import HOLDER, TOKEN

pytestmark = pytest.mark.slow


def ask(port: int, path: str, **headers: str) -> tuple[int, bytes]:
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=30)) as connection:
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        return answer.status, answer.read()


def lives(port: int) -> bool:
    try:
        return ask(port, "/livez")[0] == 200
    except OSError:
        return False


@pytest.mark.fault(17, "SIGTERM to the web server while a form is on its way")
def test_what_has_begun_is_answered_and_nothing_is_left(tmp_path: Path, findings: Findings):
    port = free_port()
    environment = os.environ | {
        "DATA_DIR": str(tmp_path),
        "DJANGO_SETTINGS_MODULE": "webagent.settings.test",
        "TMPDIR": str(tmp_path),
        "HOST": "127.0.0.1",
        "PORT": str(port),
        "WEB_PROCESSES": "1",
        "METRICS_TOKEN": TOKEN,
    }
    command = [sys.executable, "-m", "gunicorn", "webagent.wsgi"]
    command += ["--config", "python:webagent.web_server"]
    log = tmp_path / "log"
    with log.open("wb") as file:
        server = subprocess.Popen(
            command, cwd=ROOT, env=environment, stdout=file, stderr=subprocess.STDOUT
        )
    try:
        wait_until(lambda: lives(port), what="the server's start")
        assert b"crosscheck_requests_total" in ask(port, "/metrics", **HOLDER)[1]
        folders = list(tmp_path.glob("crosscheck-metrics-*"))
        assert len(folders) == 1
        assert list(folders[0].iterdir())  # its processes count together

        with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
            form = b"username=somebody"
            connection.sendall(
                b"POST /nowhere/ HTTP/1.1\r\nHost: localhost\r\nX-Request-ID: begun-before\r\n"
                b"Content-Type: application/x-www-form-urlencoded\r\n"
                b"Content-Length: %d\r\n\r\n%s" % (len(form), form[:4])
            )
            # The server has it once its thread waits for the rest.
            assert ask(port, "/livez")[0] == 200
            server.send_signal(signal.SIGTERM)
            wait_until(lambda: not lives(port), what="the end of new requests")
            connection.sendall(form[4:])
            answer = connection.makefile("rb").read()
        assert answer.startswith(b"HTTP/1.1 40")
        assert b"begun-before" in answer
        assert server.wait(30) == 0
    finally:
        server.kill()
        server.wait()
    assert not list(tmp_path.glob("crosscheck-metrics-*"))
    lines = [json.loads(line) for line in log.read_text().splitlines() if line.startswith("{")]
    assert any("Handling signal: term" in line["event"] for line in lines)
    findings.times = 1
    findings.check()
