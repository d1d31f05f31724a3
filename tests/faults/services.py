"""A Redis and a PostgreSQL of our own, to be killed and started again."""

import os
import pwd
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import redis

from scripts.with_services import find_program, free_port, wait_for


@dataclass
class Redis:
    """A server that forgets everything when it ends."""

    port: int = field(default_factory=free_port)
    process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def start(self) -> None:
        command = [find_program("redis-server"), "--port", str(self.port), "--bind", "127.0.0.1"]
        self.process = subprocess.Popen([*command, "--save", ""], stdout=subprocess.DEVNULL)
        wait_for(self.port, self.process, "Redis")

    @contextmanager
    def full(self) -> Iterator[None]:
        """Inside, it refuses whatever is new, as one does that may not throw messages away."""
        with redis.Redis.from_url(self.url) as server:
            server.config_set("maxmemory-policy", "noeviction")
            server.config_set("maxmemory", 1)
            try:
                yield
            finally:
                server.config_set("maxmemory", 0)

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()


@dataclass
class PostgreSQL:
    """A server that is stopped as by `pg_ctl -m immediate`: as if the power failed."""

    directory: Path
    port: int = field(default_factory=free_port)
    process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"postgresql://crosscheck@127.0.0.1:{self.port}/postgres"

    @property
    def _user(self) -> str | None:
        return "postgres" if os.geteuid() == 0 else None

    def create(self) -> None:
        """Make its files. It refuses to run as root, so root hands it to another user."""
        self.directory.mkdir(parents=True)
        if self._user:
            owner = pwd.getpwnam(self._user)
            os.chown(self.directory, owner.pw_uid, owner.pw_gid)
        command = [find_program("initdb"), "-D", str(self.directory), "-U", "crosscheck"]
        command += ["-A", "trust", "-E", "UTF8", "--no-sync"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, user=self._user)

    def start(self) -> None:
        command = [find_program("postgres"), "-D", str(self.directory), "-p", str(self.port)]
        command += ["-k", str(self.directory), "-c", "listen_addresses=127.0.0.1"]
        command += ["-c", "log_min_messages=panic"]
        self.process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, user=self._user
        )
        wait_for(self.port, self.process, "PostgreSQL")

    def stop_immediately(self) -> None:
        if self.process is not None:
            self.process.send_signal(signal.SIGQUIT)
            self.process.wait(60)
