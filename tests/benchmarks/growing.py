"""How much longer every page that lists or counts takes among 100,000 runs than among 1,000.

Pages are those of `walk`, as three people see them, in processor time of this process and of the
database, each in turns with a bare Django answer: what counts is how many of those a page takes,
for the machine may be slower half an hour later. An engineer sees all runs. What others see is
their own work, and the runs that are added are other people's. Told apart, without a goal: pages
that show more among more runs, and what somebody of those others waits, whose own work has grown
with the rest. `BENCHMARK_GROWN` says among how many runs. They are committed, for SQLite looks
long for what only a transaction has written; the database is one of its own, and goes.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from django.db import connection
from django.db.models import Value
from django.db.models.functions import Concat
from django.test import Client

from judging.studies.access import Role
from runs.models import User
from tests.benchmarks.clock import work_side_by_side
from tests.benchmarks.goals import bare_client, record
from tests.benchmarks.walk import addresses
from tools.seed_scale import PEOPLE
from tools.seed_scale.filling import fill

FEW, MANY = 1_000, int(os.environ.get("BENCHMARK_GROWN", "100000"))
SEEDS = 101, 102
ROLES = Role.ENGINEER, Role.ANNOTATOR, Role.ADJUDICATOR
GOAL, SHOWN = 1.2, 5
"""The worst of each role are told."""
TIMES, BARE = 20, 5
"""The least of so many answers counts, and of so many bare ones beside each."""
AS_MUCH = 1.1
"""A page shows as much while it has not grown by more than this."""


def run() -> None:
    with _database_of_its_own():
        fill(FEW, seed=SEEDS[0], anyway=True)
        clients = {role: _client(role) for role in ROLES}
        visits = {role: [*addresses(role)] for role in ROLES}
        before = {role: _work(clients[role], visits[role]) for role in ROLES}
        people = User.objects.filter(username__startswith=PEOPLE)
        people.update(username=Concat(Value("earlier "), "username"))  # others come
        fill(MANY - FEW, seed=SEEDS[1], anyway=True)
        for role in ROLES:
            of_all = f"growth from {FEW} to {MANY} runs, {role.value}, {connection.vendor}"
            as_much, more = _growth(before[role], _work(clients[role], visits[role]))
            _tell(f"{of_all}: pages that show as much", as_much, goal=GOAL)
            _tell(f"{of_all}: pages that show more", more)
            if role is not Role.ENGINEER:
                as_much, more = _growth(before[role], _work(_client(role), visits[role]))
                _tell(f"{of_all}: own work grows as well", as_much | more)


@contextmanager
def _database_of_its_own() -> Iterator[None]:
    """Empty and migrated; on SQLite a file, as those are that people use."""
    usual = connection.settings_dict["NAME"]
    with TemporaryDirectory() as folder:
        if connection.vendor == "sqlite":
            connection.settings_dict["TEST"]["NAME"] = str(Path(folder) / "growing.sqlite3")
        connection.creation.create_test_db(verbosity=0, autoclobber=True, serialize=False)
        try:
            yield
        finally:
            connection.creation.destroy_test_db(usual, verbosity=0)


def _client(role: Role) -> Client:
    client = Client()
    client.force_login(User.objects.get(username=f"{PEOPLE}{role.value}-1"))
    return client


def _work(client: Client, visited: list[str]) -> dict[str, tuple[float, int]]:
    """How many bare answers each address takes, and its bytes, where it is answered."""
    took, bare = {}, partial(bare_client().get, "/")
    for address in visited:
        answer = client.get(address)
        if answer.status_code == 200:
            length = len(answer.getvalue())
            works = partial(client.get, address), *[bare] * BARE
            page, *least = work_side_by_side(*works, times=TIMES)
            took[address] = page / min(least), length
    return took


def _growth(
    before: dict[str, tuple[float, int]], after: dict[str, tuple[float, int]]
) -> tuple[dict[str, float], dict[str, float]]:
    """By address how many times as long it takes: of those that show as much, and more."""
    as_much: dict[str, float] = {}
    more: dict[str, float] = {}
    for address in before.keys() & after.keys():
        (took, length), (takes, longer) = before[address], after[address]
        (as_much if longer <= AS_MUCH * length else more)[address] = takes / took
    return as_much, more


def _tell(what: str, growth: dict[str, float], goal: float | None = None) -> None:
    """The middle and the worst."""
    worst = sorted(growth, key=growth.__getitem__, reverse=True)[:SHOWN]
    figures = [(f"{what}, middle of {len(growth)}", median(growth.values() or [1.0]))]
    figures += [(f"  {address}", growth[address]) for address in worst]
    for named, times in figures:
        if goal is None:
            sys.stdout.write(f"{named}: {times:.3g} times\n")
        else:
            record(named, times, goal=goal, unit="times")
