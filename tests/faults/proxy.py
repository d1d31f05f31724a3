"""The reverse proxy of `docker/`, as it is there, before a web server of our own."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from scripts.with_services import free_port, wait_for
from tests.runs.live_workers import ROOT

CADDY = shutil.which("caddy")
SENDS_FORMS_AGAIN = (2, 11, 2)
"""Older ones answer 502 where nobody took a form at once (caddyserver/caddy#7546)."""


def version() -> tuple[int, ...]:
    """Caddy's own; empty where it is not installed."""
    if CADDY is None:
        return ()
    told = subprocess.run([CADDY, "version"], capture_output=True, text=True, check=True).stdout
    return tuple(int(number) for number in re.findall(r"\d+", told.split()[0])[:3])


@contextmanager
def proxied(port: int, folder: Path) -> Iterator[int]:
    """The port at which Caddy answers for the web server on that port."""
    assert CADDY is not None, "caddy is not installed"
    own = free_port()
    told = {
        "SITE_ADDRESS": f"http://127.0.0.1:{own}",
        "WEB_HOST": "127.0.0.1",
        "WEB_PORT": str(port),
        "CADDY_ADMIN": f"127.0.0.1:{free_port()}",
        "XDG_DATA_HOME": str(folder),
        "XDG_CONFIG_HOME": str(folder),
    }
    command = [CADDY, "run", "--config", str(ROOT / "docker/Caddyfile")]
    with (folder / "proxy.log").open("wb") as log:
        process = subprocess.Popen(
            command, env=os.environ | told, stdout=log, stderr=subprocess.STDOUT
        )
    try:
        wait_for(own, process, "Caddy")
        yield own
    finally:
        process.terminate()
        process.wait(20)
