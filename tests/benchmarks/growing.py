"""How much longer every page that lists or counts takes among 100,000 runs than among 1,000.

Pages are those of `walk`, as three people see them, in processor time of this process and of the
database, each in turns with a bare Django answer: what counts is how many of those a page takes,
for the machine may be slower half an hour later. Most show more among more runs: that is told
apart, without a goal, from what they take for showing as much. `BENCHMARK_GROWN` says among how
many runs. Nothing of it stays.
"""

from __future__ import annotations

import os
import sys
from functools import partial
from statistics import median

from django.db import connection, transaction
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
AS_MUCH = 1.1
"""A page shows as much while it has not grown by more than this."""


def run() -> None:
    with transaction.atomic():
        fill(FEW, seed=SEEDS[0], anyway=True)
        clients = {
            role: _client(role) for role in (Role.ENGINEER, Role.ANNOTATOR, Role.ADJUDICATOR)
        }
        visits = {role: [*addresses(role)] for role in clients}
        before = {role: _work(clients[role], visits[role]) for role in clients}
        fill(MANY - FEW, seed=SEEDS[1], anyway=True)
        for role, client in clients.items():
            after = _work(client, visits[role])
            both = before[role].keys() & after.keys()
            _tell(
                role, {address: _growth(before[role][address], after[address]) for address in both}
            )
        transaction.set_rollback(True)


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
            page, least = work_side_by_side(partial(client.get, address), bare)
            took[address] = page / least, length
    return took


def _growth(before: tuple[float, int], after: tuple[float, int]) -> tuple[float, bool]:
    """How many times as long it takes, and whether it shows about as much."""
    return after[0] / before[0], after[1] <= AS_MUCH * before[1]


def _tell(role: Role, growth: dict[str, tuple[float, bool]]) -> None:
    what = f"growth from {FEW} to {MANY} runs, {role.value}, {connection.vendor}"
    for words, shows_as_much in (("that show as much", True), ("that show more", False)):
        some = {
            key: times for key, (times, is_alike) in growth.items() if is_alike == shows_as_much
        }
        worst = sorted(some, key=some.__getitem__, reverse=True)[:SHOWN]
        middle = median(some.values() or [1.0])
        figures = [(f"{what}: middle of {len(some)} pages {words}", middle)]
        figures += [(f"  {address}", some[address]) for address in worst]
        for named, times in figures:
            if shows_as_much:
                record(named, times, goal=GOAL, unit="times")
            else:
                sys.stdout.write(f"{named}: {times:.3g} times\n")
