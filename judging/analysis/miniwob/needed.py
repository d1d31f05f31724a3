"""Which elements of a page a task needs, found without the agent: by plans, or by the goal's words.

`webagent.agents.scripted` reads the page and solves tasks that it knows; what it would act on is
what the agent needed to see. Elsewhere it is what carries a text that the goal quotes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import lru_cache
from itertools import islice

from runs.launching.seen_screens import PageElement, PageSeen
from webagent.agents.reading import quoted
from webagent.agents.scripted import Oracle
from webagent.trajectory.actions import parse_browsergym_actions
from webagent.trajectory.live import Observation
from webagent.trajectory.records import Box

MOST = 12
"""Elements of one page: a plan that goes on for longer waits for what this page never shows, and
a page may repeat a text without end."""
LEAST_SIDE = 3
_NEVER = datetime(1970, 1, 1, tzinfo=UTC)


def needed_elements(*, goal: str, url: str, tree: str, page: PageSeen) -> list[PageElement]:
    """What must be acted on, as far as it can be told and is within the picture."""
    by_bid = {each.bid: each for each in page.elements if _in_sight(each, page)}
    seen = _observation(goal, url, tree, page)
    bids = _planned(seen)
    if bids:
        return [by_bid[bid] for bid in bids if bid in by_bid]
    return _quoted(goal, list(by_bid.values()))


def _planned(seen: Observation) -> list[str]:
    """What the oracle's plan acts on while the page stays as it is."""
    oracle, found = Oracle(), dict[str, None]()
    for _ in range(MOST):
        decision = oracle.act(seen)
        if decision.action is None:
            break
        for call in parse_browsergym_actions(decision.action):
            if call.target is not None and call.target.bid is not None:
                found[call.target.bid] = None
    return list(found)


def _quoted(goal: str, elements: Sequence[PageElement]) -> list[PageElement]:
    wanted = {folded(text) for text in quoted(goal)} - {""}
    found = (each for each in elements if folded(each.text) in wanted)
    return list(islice(found, MOST))


def _observation(goal: str, url: str, tree: str, page: PageSeen) -> Observation:
    return Observation(
        at=_NEVER,
        goal=goal,
        url=url,
        title="",
        tabs=(),
        screenshot=b"",
        width=int(page.size[0]),
        height=int(page.size[1]),
        axtree=tree,
        boxes={
            each.bid: Box(x=x1, y=y1, width=x2 - x1, height=y2 - y1)
            for each in page.elements
            for x1, y1, x2, y2 in (each.box,)
        },
    )


def _in_sight(element: PageElement, page: PageSeen) -> bool:
    x1, y1, x2, y2 = element.box
    across, down = min(x2, page.size[0]) - max(x1, 0), min(y2, page.size[1]) - max(y1, 0)
    return min(across, down) >= LEAST_SIDE


@lru_cache(maxsize=1024)
def folded(text: str) -> str:
    """The text as it is compared: without case, spaces and what stands around words."""
    return re.sub(r"[\W_]+", "", text.casefold())
