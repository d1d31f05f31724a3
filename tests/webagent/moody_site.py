"""A site of our own that is out of order as often as it is told, and a task on it."""

from collections import defaultdict
from collections.abc import Callable, Iterable
from contextlib import suppress
from http.server import BaseHTTPRequestHandler
from typing import Any

from tests.webagent.made_up import PageTask, Served

PAGE = """<!doctype html><title>{title}</title><h1>{title}</h1>
<a href="/two">two</a>
<form method="post" action="/send"><button>send</button></form>
<button onclick="document.title = 'Done'">finish</button>"""


class MoodySite(Served):
    """Serves `/`, `/two`, `/send`, and `/done` where the task is solved.

    `moods` queues what a path answers instead of 200: a status, or a status with headers.
    `hosts` says under which name it was asked.
    """

    def __init__(self, port: int = 0) -> None:
        self.moods: defaultdict[str, list[int | tuple[int, dict[str, str]]]] = defaultdict(list)
        self.always: dict[str, int] = {}
        self.asked: list[tuple[str, str, int]] = []
        self.before_answer: Callable[[str], object] = lambda path: None
        super().__init__(_Handler, port)

    def fails(self, path: str, statuses: Iterable[int | tuple[int, dict[str, str]]]) -> None:
        """The next answers of this path."""
        self.moods[path] += statuses

    def statuses(self, path: str) -> list[int]:
        """What this path has answered, in order."""
        return [status for _, asked, status in self.asked if asked == path]

    def answer(self, method: str, path: str) -> tuple[int, dict[str, str]]:
        self.before_answer(path)
        mood: int | tuple[int, dict[str, str]] = self.always.get(path, 200)
        if self.moods[path]:
            mood = self.moods[path].pop(0)
        status, headers = mood if isinstance(mood, tuple) else (mood, {})
        self.asked.append((method, path, status))
        return status, headers


class _Handler(BaseHTTPRequestHandler):
    site: MoodySite

    def do_GET(self) -> None:
        self._answer("GET")

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("content-length", 0)))
        self._answer("POST")

    def _answer(self, method: str) -> None:
        status, headers = self.site.answer(method, self.path)
        well = "Done" if self.path == "/done" else "Shop"
        title = well if status == 200 else f"Error {status}"
        content = PAGE.format(title=title).encode()
        self.send_response(status)
        for name, value in {"content-type": "text/html", "connection": "close", **headers}.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(content)))
        with suppress(ConnectionError):  # who asked may have gone
            self.end_headers()
            self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


class MoodyTask(PageTask):
    """Opens the site's first page; the title `Done` is success. `log_in` opens `/login` first."""

    timeout = 1500

    def __init__(self, seed: int, url: str, log_in: bool = False) -> None:
        self.url = url
        self.log_in = log_in

    def setup(self, page: Any) -> tuple[str, dict[str, Any]]:
        if self.log_in:
            self.ui_login(page)
        page.goto(self.url + "/")
        return "Finish.", {}

    def ui_login(self, page: Any) -> None:
        """As BrowserGym's benchmarks do: look for the form that the log-in page should have."""
        page.goto(self.url + "/login")
        page.get_by_label("Username").fill("ada")

    def validate(self, page: Any, messages: Any) -> tuple[float, bool, str, dict[str, Any]]:
        done = page.title() == "Done"
        return float(done), done, "", {}
