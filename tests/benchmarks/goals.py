"""The goals of `docs/scale.md` that are measured, and the table of them at the end of a run.

Times are goals for a machine on which a bare Django answer takes half a millisecond: somebody is
logged in and named, and of middleware there is what `startproject` writes. What it takes here is
measured beside each goal, and the goal is stretched by as much as this machine is slower then.
"""

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

from django.http import HttpRequest, HttpResponse
from django.test import Client
from django.test.utils import override_settings
from django.urls import path

from runs.models import User

BARE_MS = 0.5
"""The bare Django answer of the machine that the goals were set for."""
STOCK = [
    "tests.benchmarks.goals.bare_addresses",
    "django.middleware.security.SecurityMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table."""

    what: str
    ours: float
    goal: float
    unit: str
    bare: float | None
    is_most: bool = True
    """Whether the goal is the most that it may be; else the least."""

    @property
    def is_met(self) -> bool:
        return self.ours <= self.goal if self.is_most else self.ours >= self.goal

    def told(self) -> tuple[str, ...]:
        sign = "≤" if self.is_most else "≥"
        bare = "" if self.bare is None else f"{self.bare:.3g}"
        verdict = "yes" if self.is_met else "NO"
        return (
            f"{self.what}, {self.unit}",
            f"{self.ours:.3g}",
            f"{sign} {self.goal:.3g}",
            bare,
            verdict,
        )


_rows: list[Row] = []
_answers: list[float] = []
"""Milliseconds of a bare answer, whenever they were asked for."""


def record(
    what: str,
    ours: float,
    *,
    goal: float,
    unit: str = "ms",
    bare: float | None = None,
    is_most: bool = True,
) -> None:
    """Keep a figure for the table, and say it at once.

    Args:
        goal: as it counts here; see `stretched` and `lowered`.
        bare: the same without us, where there is such a thing.
    """
    row = Row(what, ours, goal, unit, bare, is_most)
    _rows.append(row)
    _say(" | ".join(row.told()))


def tell_all() -> None:
    """The table of all goals that were measured in this run."""
    if not _rows:
        return
    table = [("measured", "here", "goal here", "bare", "met"), *(row.told() for row in _rows)]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    n_met = sum(row.is_met for row in _rows)
    least, most = min(_answers, default=0), max(_answers, default=0)
    _say(
        f"\n{n_met} of {len(_rows)} goals met; a bare Django answer took {least:.2f}-{most:.2f} ms"
    )
    for line in table:
        _say("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)))


def stretched(goal_ms: float) -> float:
    """A goal in milliseconds of the machine that it was set for, in those of this one."""
    return goal_ms * bare_ms() / BARE_MS


def lowered(goal_per_s: float) -> float:
    """Likewise a goal in so many a second, of work that processors bound."""
    return goal_per_s * BARE_MS / bare_ms()


def bare_ms() -> float:
    """What a bare Django answer takes here and now, in milliseconds of this process alone.

    Not of the database's: that would stretch the goals by how slow the database is.
    """
    client = bare_client()
    spent = []
    for _ in range(200):
        start = time.process_time()
        client.get("/")
        spent.append(time.process_time() - start)
    _answers.append(1000 * min(spent))
    return _answers[-1]


def bare_client(user: User | None = None, answer: Callable[[], bytes] | None = None) -> Client:
    """Somebody on a site of nothing but Django.

    Args:
        user: who is logged in, else anybody.
        answer: what the page says, else the person's name.
    """
    with override_settings(MIDDLEWARE=STOCK):  # which is read with the first request
        client = Client()
        anybody = User.objects.order_by("pk").first()
        client.force_login(user or anybody or User.objects.create(username="bare"))
        client.get("/")
    if answer is not None:
        client.defaults["tests.answer"] = answer  # type: ignore[assignment]  # WSGI takes any
    return client


def bare_addresses(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[..., object]:
    """A middleware that leads to the one bare page, whatever the settings' addresses are."""

    def answered(request: HttpRequest) -> HttpResponse:
        request.urlconf = __name__
        return get_response(request)

    return answered


def bare_page(request: HttpRequest) -> HttpResponse:
    answer = request.META.get("tests.answer")
    return HttpResponse(answer() if answer else request.user.get_username())


urlpatterns = [path("", bare_page)]


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
