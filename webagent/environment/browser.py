"""Find the Chromium to drive, start it, and end the browsers whose program died.

A program that drives browsers marks itself once; everything it starts inherits the mark in
its environment. Whoever looks later (the next run, the sweep, a supervisor) can tell from the
mark that the owner is gone, even after kill -9, which lets nobody clean up behind themselves.
Only for systems with /proc; elsewhere nothing is found, and Playwright's own cleaning is all.
"""

import contextlib
import logging
import os
import shutil
import signal
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from webagent.environment.interface import EnvironmentFailure
from webagent.trajectory.faults import Fault

logger = logging.getLogger(__name__)

EXECUTABLE_VARIABLE = "CHROMIUM_EXECUTABLE"
SANDBOX_VARIABLE = "CHROMIUM_SANDBOX"

SYSTEM_CANDIDATES = (
    "/usr/bin/chromium",
    "/usr/bin/chromium-browser",
    "/snap/bin/chromium",
    "/usr/bin/google-chrome",
    "/usr/bin/google-chrome-stable",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
)
NAMES_ON_PATH = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")

# Playwright already turns most background traffic off; this is the rest. Chromium obeys only
# the last --disable-features, so everything to disable has to stand in one of them.
# The pop-ups of the address bar are pages that nobody sees: with them a window takes 1.1 instead of
# 0.4 seconds of processor, and 50 MB more.
DISABLED_FEATURES = (
    "AutofillServerCommunication",
    "CertificateTransparencyComponentUpdater",
    "ExtendedOverlayScrollbars",
    "HttpsUpgrades",
    "MediaRouter",
    "NetworkTimeServiceQuerying",
    "OptimizationHints",
    "OverlayScrollbars",
    "PaintHolding",
    "Translate",
    "WebUIOmniboxAimPopup",
    "WebUIOmniboxPopup",
)
QUIET_FLAGS = (
    "--disable-client-side-phishing-detection",
    "--disable-domain-reliability",
    "--disable-quic",
    "--dns-prefetch-disable",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--no-pings",
    "--no-proxy-server",
)


class BrowserNotFound(EnvironmentFailure):
    """There is no Chromium to drive; the message says where was looked and what to do."""

    def __init__(self, message: str) -> None:
        super().__init__(message, Fault.BROWSER_MISSING)


@dataclass(frozen=True, slots=True)
class Hosts:
    """The only hosts that the browser can reach.

    `allowed` are host names as they are; `local` maps a host name to the `address:port` that
    answers for it on this machine, so that recorded URLs stay the same from run to run.
    `foreign` are those among them that the task does not call its own, as `host` or as
    `host:port` where several sites share a host: what fails there is not the task's site.
    """

    allowed: frozenset[str] = frozenset()
    local: dict[str, str] = field(default_factory=dict)
    foreign: frozenset[str] = frozenset()

    def __contains__(self, host: object) -> bool:
        return host in self.allowed or host in self.local

    def owns(self, url: str) -> bool:
        """Whether the address is on one of the task's own sites."""
        parts = urlsplit(url)
        return parts.hostname in self and not {parts.hostname, parts.netloc} & self.foreign

    def __str__(self) -> str:
        return ", ".join(sorted({*self.allowed, *self.local})) or "none"

    def resolver_rules(self) -> str:
        """Chromium's --host-resolver-rules: every other name and address is not found.

        The browser itself enforces them, for web sockets, workers and its own services too,
        where intercepting requests page by page would stall each until Python answers it.
        """
        rules = [f"MAP {host} {address}" for host, address in sorted(self.local.items())]
        rules.append("MAP * ~NOTFOUND")
        rules += [f"EXCLUDE {host}" for host in sorted(self.allowed)]
        return ", ".join(rules)


@dataclass(frozen=True, slots=True, kw_only=True)
class BrowserSettings:
    """How to start the browser; what is None follows the environment, then what is found.

    `sandbox`: True demands Chromium's own sandbox, False starts without; None uses it unless
    this process is root, where Chromium refuses it.
    """

    executable: str | None = None
    sandbox: bool | None = None
    headless: bool = True

    def wants_sandbox(self) -> bool:
        if self.sandbox is not None:
            return self.sandbox
        if setting := os.environ.get(SANDBOX_VARIABLE):
            return setting.lower() not in {"0", "false", "no", "off"}
        return os.geteuid() != 0


def chromium_arguments(hosts: Hosts, given: Iterable[str] = ()) -> list[str]:
    """The command line for a browser that reaches only `hosts`, with the `given` flags kept."""
    features = set(DISABLED_FEATURES)
    kept = []
    for flag in given:
        name, _, value = flag.partition("=")
        if name == "--disable-features":
            features.update(value.split(","))
        else:
            kept.append(flag)
    return [
        *kept,
        *QUIET_FLAGS,
        f"--disable-features={','.join(sorted(features))}",
        f"--host-resolver-rules={hosts.resolver_rules()}",
    ]


def find_chromium(explicit: str | None = None, playwright_path: str | None = None) -> str:
    """Path of the Chromium to use: the set one, Playwright's own, else the system's.

    Args:
        explicit: a path that must hold; without it CHROMIUM_EXECUTABLE, if set, must.
        playwright_path: where Playwright would keep its own browser, present or not.

    Raises:
        BrowserNotFound: what is set is no program, or nothing is there.
    """
    wanted = explicit or os.environ.get(EXECUTABLE_VARIABLE)
    if wanted:
        if _is_program(wanted):
            return wanted
        raise BrowserNotFound(
            f"{EXECUTABLE_VARIABLE} is {wanted!r}, which is no program that can be run. "
            "Correct it, or unset it to use the browser that is found."
        )
    on_path = (shutil.which(name) for name in NAMES_ON_PATH)
    for candidate in (playwright_path, *SYSTEM_CANDIDATES, *on_path):
        if candidate and _is_program(candidate):
            return candidate
    raise BrowserNotFound(
        "No Chromium was found: neither Playwright's own nor the system's. Install one "
        "(`apt install chromium`, or `playwright install chromium`), or set "
        f"{EXECUTABLE_VARIABLE} to the path of a Chromium or Chrome."
    )


def _is_program(path: str) -> bool:
    return Path(path).is_file() and os.access(path, os.X_OK)


OWNER_VARIABLE = "CROSSCHECK_BROWSER_OWNER"

_PROC = Path("/proc")
_PARENT, _START = 1, 19
"""Places in /proc/PID/stat, counted from the state after the name."""


def mark_browsers() -> None:
    """Whatever this process starts from now on carries its mark."""
    os.environ[OWNER_VARIABLE] = _mark(os.getpid()) or ""


def end_leftovers() -> int:
    """Kill what dead owners left behind; returns how many processes were killed."""
    marks = _marks()
    space = _namespace()
    dead = {
        mark
        for mark in set(marks.values())
        if mark.startswith(f"{space}:") and _mark(int(mark.split(":")[1])) != mark
    }
    return _kill(pid for pid, mark in marks.items() if mark in dead)


def end_own_browsers() -> int:
    """Kill what this process started and has not closed; returns how many were killed."""
    own = _mark(os.getpid())
    return _kill(pid for pid, mark in _marks().items() if mark == own and pid != os.getpid())


def _kill(pids: Iterable[int]) -> int:
    """Kill these processes and all below them: Chromium's children overwrite their mark."""
    children = defaultdict(set)
    for pid in _pids():
        if stat := _stat(pid):
            children[int(stat[_PARENT])].add(pid)
    pending: set[int] = set()
    waiting = set(pids)
    while waiting:
        pid = waiting.pop()
        pending.add(pid)
        waiting |= children[pid] - pending
    for pid in pending:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)
    return len(pending)


def _pids() -> list[int]:
    return [int(folder.name) for folder in _PROC.glob("[0-9]*")]


def _marks() -> dict[int, str]:
    """The mark of every process that carries one and that we may look at."""
    name = f"{OWNER_VARIABLE}=".encode()
    found = {}
    for pid in _pids():
        with contextlib.suppress(OSError):
            for entry in (_PROC / str(pid) / "environ").read_bytes().split(b"\0"):
                if entry.startswith(name) and len(entry) > len(name):
                    found[pid] = entry[len(name) :].decode("ascii", "replace")
    return found


def _mark(pid: int) -> str | None:
    """Namespace, number and start time: a name that no later process will have."""
    stat = _stat(pid)
    return f"{_namespace()}:{pid}:{stat[_START]}" if stat and stat[0] != "Z" else None


def _namespace() -> str:
    """Which process numbers these are: containers count anew."""
    try:
        return (_PROC / "self/ns/pid").readlink().name.strip("pid:[]")
    except OSError:
        return ""


def _stat(pid: int) -> list[str] | None:
    try:
        text = (_PROC / str(pid) / "stat").read_text()
    except OSError:
        return None
    return text.rpartition(")")[2].split()
