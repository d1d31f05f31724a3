"""Killing processes of a served site, and whether all work that is queued is taken afterwards."""

import os
import signal
import time
from collections.abc import Sequence
from contextlib import suppress
from types import TracebackType
from typing import Self

from tests.faults import deaf_broker
from tests.faults.findings import Findings
from tests.faults.queued_work import Queuing, Work
from tests.faults.served import Served, name_of, processes_of
from tests.faults.storm import REST_WITHIN_S, all_ended
from tests.faults.traffic import again
from tests.runs.factories import make_user
from tests.runs.live_workers import LEASE_S, Site, wait_until
from webagent.environment.registry import register_suite

TAKEN_WITHIN_S = LEASE_S + 30
"""The promise: from the fault on, or from when there is a supervisor again."""
NOTICED_WITHIN_S = 5


class Liveness:
    """A site that is served, and what becomes of work that is queued after each fault.

    Use it inside `with`; at the end the site is stopped, and must leave no process.
    """

    def __init__(self, site: Site, findings: Findings) -> None:
        register_suite("waiting", "tests.faults.waiting_suite")
        site.environment["DJANGO_SETTINGS_MODULE"] = "tests.faults.settings"
        site.environment.setdefault("BROWSERS", "2")
        self._site = site
        self._findings = findings
        findings.times = 0
        self._served = Served(site)
        self._queuing = Queuing(self._served.port, make_user("engineer"))

    def __enter__(self) -> Self:
        self._start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            if kind is None:
                self._stop()
        finally:
            self._served.kill()

    @property
    def supervisor(self) -> int:
        """The process that starts all others."""
        return self._served.pid

    def processes(self) -> dict[int, str]:
        """Every process of the site that is not a browser's, by its id, with its name."""
        found = {pid: name_of(pid) for pid in processes_of(self._site)}
        return {pid: name for pid, name in found.items() if name and "node" not in name}

    def kill(self, *victims: int) -> None:
        """kill -9 to processes, in this order; then everything that is queued must be taken."""
        names = self._signal(victims, signal.SIGKILL)
        since = time.monotonic()
        if self.supervisor in victims:
            since = self._start_again()
        late = self._left_after(TAKEN_WITHIN_S, since, self._queuing.one_of_each())
        self._complain(late, f"after kill -9 to {names}")

    def freeze(self, victim: int) -> None:
        """SIGSTOP to a process, for good; nobody may rely on it any more."""
        self._demand_it_is_noticed(f"SIGSTOP to {self._signal([victim], signal.SIGSTOP)}")

    def deafen(self, victim: int) -> None:
        """A process that takes messages from files finds none any more, and lives on."""
        deaf_broker.deafen(victim, self._site.data_dir / "queue/control")
        self._findings.times += 1
        self._demand_it_is_noticed(f"{victim} ({name_of(victim)}) was made deaf")

    def _demand_it_is_noticed(self, fault: str) -> None:
        """What it alone could have taken may wait while the site says so, but not for ever."""
        waiting, since = self._queuing.one_of_each(), time.monotonic()
        late = self._left_after(TAKEN_WITHIN_S, since, waiting)
        if late and not self._is_said_to_be_ill(late):
            self._complain(late, f"after {fault}, and the site is said to be well")
        late = self._left_after(3 * TAKEN_WITHIN_S, since, late)
        self._complain(late, f"after {fault}")

    def _is_said_to_be_ill(self, late: Work) -> bool:
        """Whether the site says so, or somebody takes the work at last, within a moment."""
        with suppress(AssertionError):
            return bool(
                wait_until(
                    lambda: not self._served.is_well() or not self._left_after(0, 0, late),
                    NOTICED_WITHIN_S,
                )
            )
        return False

    def come_to_rest(self) -> None:
        """Everything that was queued must come to its end."""
        try:
            wait_until(lambda: again(all_ended), REST_WITHIN_S, "the end of all work")
        except AssertionError as error:
            self._findings.complain([str(error)])

    def _signal(self, victims: Sequence[int], number: signal.Signals) -> str:
        names = ", ".join(f"{pid} ({name_of(pid)})" for pid in victims)
        for pid in victims:
            with suppress(ProcessLookupError):
                os.kill(pid, number)
        self._findings.times += len(victims)
        return names

    def _start(self) -> None:
        self._served.start()
        self._served.wait()

    def _start_again(self) -> float:
        """As the machine's own supervisor does with a program that died; when it was ready."""
        assert self._served.process is not None
        self._served.process.wait()
        wait_until(lambda: not self.processes(), 60, "the end of the supervisor's processes")
        self._start()
        return time.monotonic()

    def _stop(self) -> None:
        code = self._served.stop()
        left = processes_of(self._site)
        self._findings.left_over += len(left)
        self._findings.complain([f"it ended with {code}"] if code else [])
        self._findings.complain(f"left over: {words}" for words in left.values())

    def _left_after(self, limit_s: float, since: float, work: Work) -> Work:
        """What of the work nobody has taken within the time."""
        waiting = dict(work)
        while waiting:
            taken = [queue for queue, is_taken in waiting.items() if again(is_taken)]
            self._findings.recoveries_s += [time.monotonic() - since] * len(taken)
            waiting = {queue: waiting[queue] for queue in waiting.keys() - set(taken)}
            if time.monotonic() - since >= limit_s:
                break
            time.sleep(0.05)
        return waiting

    def _complain(self, late: Work, when: str) -> None:
        self._findings.complain(f"nobody took work of the queue {queue} {when}" for queue in late)
