"""What noticing that an agent is stuck costs per step, against hashing the page as it is."""

import hashlib
from dataclasses import replace
from datetime import UTC, datetime
from itertools import count

from tests.benchmarks.clock import seconds, tell
from webagent.recovery.anomalies import Screens, Watch, what_was_done
from webagent.recovery.retry_policy import RecoveryPolicy
from webagent.trajectory.actions import action_kind, parse_browsergym_actions
from webagent.trajectory.live import Observation

STEPS = 100


def run() -> None:
    for lines in (40, 1_000):
        tree = _tree(lines)
        # Every page anew: an observation computes its fingerprint once.
        pages = [_observation(tree, number) for number in range(STEPS)]

        def watch(pages: list[Observation] = pages) -> None:
            watch, screens = Watch(RecoveryPolicy()), Screens()
            for number, page in enumerate(pages):
                # The worst of histories: nearly a loop, and never one.
                calls = parse_browsergym_actions(f"click('{number % 25}')")
                did = what_was_done(calls, replace(page), screens)
                watch.see(number, did, [action_kind(call) for call in calls])

        def bare(pages: list[Observation] = pages) -> None:
            for page in pages:
                hashlib.blake2b(page.axtree.encode()).hexdigest()

        ours, hashing = (1000 * seconds(work) / STEPS for work in (watch, bare))
        tell(f"noticing loops, per step of {STEPS}, tree of {lines} lines", ours, hashing, "ms")


def _tree(lines: int) -> str:
    number = count(10)
    roles = ("link", "button", "StaticText", "gridcell")
    rows = [
        f"\t[{next(number)}] {roles[i % 4]} 'Order {i} of 2026'"
        + (f", clickable, url='http://shop.test/orders/{i}'" if i % 4 == 0 else "")
        + ("" if i % 20 else "\n\t\tStaticText 'updated 12:30:05'")
        for i in range(lines)
    ]
    return "\n".join(["RootWebArea 'Orders', focused", *rows])


def _observation(tree: str, number: int) -> Observation:
    return Observation(
        at=datetime.now(UTC),
        goal="",
        url=f"http://shop.test/?page={number % 2}&sid={number}",
        title="",
        screenshot=b"",
        width=1,
        height=1,
        axtree=tree,
    )
