"""What the sites, tasks and environments that tests make up have in common."""

import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

from webagent.trajectory.records import EnvironmentRecord, Json, TaskRecord, TaskSetRecord, TextPart


def task_of(name: str, goal: str, sites: tuple[str, ...] = ()) -> TaskRecord:
    """The task `suite.task`, which has this goal."""
    return TaskRecord(
        id=name,
        task_set=TaskSetRecord(name=name.partition(".")[0], version="1"),
        external_id=name,
        sites=sites,
        goal=(TextPart(text=goal),),
    )


class PageTask:
    """A task as BrowserGym declares it, without a page yet; it never ends by itself."""

    viewport = {"width": 400, "height": 300}
    timeout = 3000
    slow_mo = 0
    locale = None
    timezone_id = None

    def validate(self, page: Any, messages: Any) -> tuple[float, bool, str, dict[str, Any]]:
        return 0.0, False, "", {}

    def teardown(self) -> None:
        """Nothing is left behind."""


class Stage:
    """An environment without a browser, in which nothing happens yet."""

    def milestones(self) -> Mapping[str, bool]:
        return {}

    def evidence(self, evaluation: Json | None) -> Json:
        return {}

    def describe(self) -> EnvironmentRecord:
        return EnvironmentRecord(browser="none")

    def close(self) -> None:
        """Nothing is open."""


class Served:
    """A site on a port of this machine for as long as the block lasts."""

    def __init__(self, handler: type[BaseHTTPRequestHandler], port: int = 0) -> None:
        mine = type("Handler", (handler,), {"site": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", port), mine)
        self.port = self._server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True
        )

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
