"""Run a command with a PostgreSQL and a Redis of its own, and take both away afterwards.

    python scripts/with_services.py COMMAND [ARGUMENT...]

Both listen on the loopback interface only, on free ports, with their data in a temporary
directory; the command finds them in DATABASE_URL and REDIS_URL. Exits with its exit code.
"""

import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

START_LIMIT_S = 60
# Nothing need outlive the server, and what runs in the background takes the processor from tests.
# The planner counts as in docker/compose.yaml.
POSTGRESQL_SETTINGS = (
    "listen_addresses=127.0.0.1",
    "log_min_messages=fatal",
    "fsync=off",
    "synchronous_commit=off",
    "full_page_writes=off",
    "wal_level=minimal",
    "max_wal_senders=0",
    "max_wal_size=4GB",
    "checkpoint_timeout=1h",
    "autovacuum=off",
    "random_page_cost=1.1",
    "jit=off",
    "update_process_title=off",
)


def free_port() -> int:
    """A port of the loopback interface that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def find_program(name: str) -> str:
    """The program's path, also where Debian keeps it out of PATH.

    Raises:
        SystemExit: it is not installed.
    """
    debian = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"), reverse=True)
    found = str(debian[0]) if debian else shutil.which(name)
    if not found:
        raise SystemExit(f"{name} is not installed; scripts/install_services.sh says what to do")
    return found


def wait_for(port: int, process: subprocess.Popen[bytes], name: str) -> None:
    """Return when something listens on the port.

    Raises:
        SystemExit: the process ended, or the time is up.
    """
    deadline = time.monotonic() + START_LIMIT_S
    while time.monotonic() < deadline and process.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise SystemExit(f"{name} did not start")


@contextmanager
def running(
    command: list[str], *, stop: signal.Signals, user: str | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    """The process, stopped at the end by the given signal."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, user=user)
    try:
        yield process
    finally:
        process.send_signal(stop)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@contextmanager
def postgresql(directory: Path) -> Iterator[str]:
    """URL of a fresh PostgreSQL. It refuses to run as root, so root hands it to another user."""
    user = None
    data = directory / "postgresql"
    data.mkdir()
    if os.geteuid() == 0:
        user = "postgres"
        owner = pwd.getpwnam(user)
        os.chown(data, owner.pw_uid, owner.pw_gid)
    subprocess.run(
        [find_program("initdb"), "-D", str(data), "-U", "crosscheck", "-A", "trust", "-E", "UTF8"],
        check=True,
        stdout=subprocess.DEVNULL,
        user=user,
    )
    port = free_port()
    command = [find_program("postgres"), "-D", str(data), "-p", str(port), "-k", str(data)]
    command += [part for setting in POSTGRESQL_SETTINGS for part in ("-c", setting)]
    with running(command, stop=signal.SIGINT, user=user) as process:
        wait_for(port, process, "PostgreSQL")
        yield f"postgresql://crosscheck@127.0.0.1:{port}/postgres"


@contextmanager
def redis(directory: Path) -> Iterator[str]:
    """URL of a fresh Redis without persistence."""
    port = free_port()
    command = [find_program("redis-server"), "--port", str(port), "--bind", "127.0.0.1"]
    command += ["--save", "", "--dir", str(directory), "--maxmemory-policy", "noeviction"]
    with running(command, stop=signal.SIGTERM) as process:
        wait_for(port, process, "Redis")
        yield f"redis://127.0.0.1:{port}/0"


def main(command: list[str]) -> int:
    with ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="crosscheck-")))
        directory.chmod(0o755)
        environment = os.environ | {
            "DATABASE_URL": stack.enter_context(postgresql(directory)),
            "REDIS_URL": stack.enter_context(redis(directory)),
        }
        return subprocess.run(command, env=environment, check=False).returncode


if __name__ == "__main__":
    if len(sys.argv) < 2:
        raise SystemExit(__doc__)
    raise SystemExit(main(sys.argv[1:]))
