"""The real web server in processes of its own, and people who use it over HTTP."""

import http.client
import os
import re
import secrets
import signal
import socket
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.sessions.backends.db import SessionStore
from django.test.client import BOUNDARY, MULTIPART_CONTENT, encode_multipart

from runs.models import User
from scripts.with_services import free_port
from tests.runs.live_workers import ROOT, Site, wait_until

PATIENCE_S = 60
START_WITHIN_S = 240
"""On a machine that is busy with much else."""


@dataclass
class Web:
    """gunicorn as `manage.py serve` starts it: two processes of four threads."""

    site: Site
    port: int = field(default_factory=free_port)
    process: subprocess.Popen[bytes] | None = None

    @property
    def log(self) -> Path:
        return self.site.data_dir / "web.log"

    def start(self) -> None:
        command = [sys.executable, "-m", "gunicorn", "webagent.wsgi"]
        command += ["--bind", f"127.0.0.1:{self.port}", "--workers", "2", "--threads", "4"]
        command += ["--graceful-timeout", "5", "--log-level", "warning", "--no-control-socket"]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                command,
                cwd=ROOT,
                env=self.site.environment,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def answers(self) -> bool:
        """Whether somebody who is not logged in gets the page to do so."""
        try:
            return Visitor(self.port).get("/login/").status < 500
        except (OSError, http.client.HTTPException):
            return False

    def wait(self) -> None:
        wait_until(self.answers, START_WITHIN_S, "an answer of the web server")

    def children(self) -> list[int]:
        """The processes that answer requests."""
        assert self.process is not None
        told = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        with suppress(OSError):
            return [int(pid) for pid in told.read_text().split()]
        return []

    def kill_child(self) -> None:
        """kill -9 to one process that answers; gunicorn starts another."""
        for pid in self.children()[:1]:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def kill(self) -> None:
        """kill -9 to all of it."""
        if self.process is not None:
            with suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()


@dataclass(frozen=True)
class Reply:
    status: int
    location: str
    body: str
    headers: dict[str, str]


class Visitor:
    """Somebody's browser: a session, a token for forms, one connection at a time."""

    def __init__(self, port: int, user: User | None = None) -> None:
        self.user = user
        self._port = port
        self._token = secrets.token_hex(16)
        cookies = {"csrftoken": self._token}
        if user is not None:
            cookies[settings.SESSION_COOKIE_NAME] = session_of(user)
        self._cookie = "; ".join(f"{name}={value}" for name, value in cookies.items())

    def get(self, path: str, **headers: str) -> Reply:
        return self._ask("GET", path, None, headers)

    def post(self, path: str, fields: dict[str, Any], **headers: str) -> Reply:
        """Send a form; a file among its fields makes it one of several parts."""
        if any(hasattr(value, "read") for value in fields.values()):
            body = encode_multipart(BOUNDARY, fields)
            headers["Content-Type"] = MULTIPART_CONTENT
        else:
            body = urlencode(fields).encode()
            headers["Content-Type"] = "application/x-www-form-urlencoded"
        return self._ask("POST", path, body, headers)

    def begin(self, path: str, content_type: str, part: bytes, length: int) -> socket.socket:
        """Send a form's head and so much of its body as it is; the connection, still open."""
        connection = socket.create_connection(("127.0.0.1", self._port), timeout=PATIENCE_S)
        head = (
            f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nCookie: {self._cookie}\r\n"
            f"X-CSRFToken: {self._token}\r\nContent-Type: {content_type}\r\n"
            f"Content-Length: {length}\r\n\r\n"
        )
        connection.sendall(head.encode() + part)
        return connection

    def _ask(self, method: str, path: str, body: bytes | None, more: dict[str, str]) -> Reply:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=PATIENCE_S)
        try:
            headers = {"Cookie": self._cookie, "X-CSRFToken": self._token, **more}
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            words = answer.read().decode(errors="replace")
            said = {name.lower(): value for name, value in answer.getheaders()}
            return Reply(answer.status, said.get("location", ""), words, said)
        finally:
            connection.close()


def session_of(user: User) -> str:
    """The key of a new session, as logging in makes one."""
    session = SessionStore()
    session[SESSION_KEY] = str(user.pk)
    session[BACKEND_SESSION_KEY] = settings.AUTHENTICATION_BACKENDS[-1]
    session[HASH_SESSION_KEY] = user.get_session_auth_hash()
    session.save()
    assert session.session_key
    return session.session_key


def form_value(page: str, name: str) -> str:
    """What a hidden field of the page holds.

    Raises:
        ValueError: there is no such field.
    """
    for tag in re.findall(r"<input[^>]*>", page):
        if f'name="{name}"' in tag and (value := re.search(r'value="([^"]*)"', tag)):
            return value[1]
    raise ValueError(f"no field {name}")
