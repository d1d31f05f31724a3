"""Find things on a page by reading its accessibility tree, as the scripted agents do."""

import re

from webagent.trajectory.axtree import subtree
from webagent.trajectory.live import Observation


class NotSeen(Exception):
    """What was looked for is not on the page, or not in the goal."""


LONGEST_GOAL = 2_000
"""Patterns of plans take the square of it at worst."""


def quoted(text: str) -> tuple[str, ...]:
    """Everything between straight double quotes, in order.

    For goals that a program wrote: what stands there may be empty, and plans count on the order.
    `webagent.trajectory.texts` reads what people wrote.
    """
    return tuple(re.findall(r'"([^"]*)"', text))


def wanted(goal: str, pattern: str) -> tuple[str, ...]:
    """The groups of a pattern in the goal's first `LONGEST_GOAL` characters. Raises NotSeen."""
    match = re.search(pattern, goal[:LONGEST_GOAL], re.DOTALL)
    if match is None:
        raise NotSeen(f"the goal does not read as expected: {goal}")
    return match.groups()


def bids(see: Observation, *roles: str) -> tuple[str, ...]:
    """The elements of these roles, in document order."""
    return tuple(node.bid for node in see.nodes if node.role in roles and node.bid)


def first(see: Observation, *roles: str) -> str:
    """The first element of these roles. Raises NotSeen."""
    return nth(see, 0, *roles)


def nth(see: Observation, index: int, *roles: str) -> str:
    """The element at an index among those of these roles. Raises NotSeen."""
    found = bids(see, *roles)
    if not 0 <= index < len(found):
        raise NotSeen(f"there is no {' or '.join(roles)} number {index + 1}")
    return found[index]


def named(see: Observation, name: str, *roles: str) -> str:
    """The element of these roles with that name, whatever its case. Raises NotSeen."""
    for node in see.nodes:
        if node.role in roles and node.bid and node.name.lower() == name.lower():
            return node.bid
    raise NotSeen(f"there is no {' or '.join(roles)} named {name!r}")


def reacting(see: Observation) -> tuple[tuple[str, str], ...]:
    """Bid and text of every part without a role that reacts to clicks."""
    return tuple(
        (node.bid, text_below(see, index))
        for index, node in enumerate(see.nodes)
        if node.role == "generic" and node.bid and node.has("clickable")
    )


def reacting_with(see: Observation, text: str) -> str | None:
    """The part without a role that reacts to clicks and reads so, final stop or not."""
    for bid, found in reacting(see):
        if found.strip(" .,") == text.strip(" .,"):
            return bid
    return None


def text_below(see: Observation, index: int) -> str:
    """The text under the node at an index, its pieces joined by blanks."""
    return " ".join(node.name for node in subtree(see.nodes, index) if node.role == "StaticText")


def texts(see: Observation) -> tuple[str, ...]:
    """Every piece of plain text on the page that is not empty."""
    return tuple(node.name for node in see.nodes if node.role == "StaticText" and node.name.strip())
