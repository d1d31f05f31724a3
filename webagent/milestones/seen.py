"""What a step shows a check: address, page, actions, and what the environment reported."""

import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache

from webagent.trajectory.axtree import Node, parse_axtree
from webagent.trajectory.records import ActionRecord, BlobRecord, Observation, StepRecord
from webagent.trajectory.values import mapping

TreeText = Callable[[BlobRecord], str | None]
"""The text of an accessibility tree, given its file; None where that is gone."""


@dataclass(frozen=True, kw_only=True)
class StepView:
    """One look at a run: a page, or what an action did.

    Attributes:
        step: the step that led to it: a page seen before an action came of the step before.
        shown_at: the step to look at, if that is another one.
        url: the page's address; None where this is no look at a page, or it was not kept.
        tree: the page's accessibility tree, as text; None likewise.
        actions: what the agent did, where this is a look at its action.
        reported: milestones as the environment reported them after the action.
        is_fresh_start: everything done before was undone, and this page is a new beginning.
    """

    step: int
    shown_at: int | None = None
    url: str | None = None
    tree: str | None = None
    actions: tuple[ActionRecord, ...] = ()
    reported: Mapping[str, bool] = field(default_factory=dict)
    is_fresh_start: bool = False

    @cached_property
    def nodes(self) -> tuple[Node, ...]:
        """The tree's nodes, parsed once; none where it is not of BrowserGym's form."""
        return parse_axtree(self.tree or "")

    @cached_property
    def text(self) -> str:
        """The words of the page, `plain`; of a tree of unknown form all that it holds."""
        if not self.nodes:
            return plain(self.tree or "")
        words = (word for node in self.nodes for word in (node.name, node.value) if word)
        return plain(" ".join(words))


def looks(steps: Sequence[StepRecord], tree_text: TreeText) -> Iterator[StepView]:
    """The steps as a row of looks: before, action, and after where that was kept.

    A rollback begins a new branch, on which the page is a fresh start; trees are read one by one.
    """
    branch = 0
    for place, step in enumerate(steps):
        is_fresh = place > 0 and step.branch != branch
        branch = step.branch
        came_of = steps[place - 1].index if place and not is_fresh else step.index
        shown = _page(came_of, step.before, tree_text, is_fresh_start=is_fresh)
        yield replace(shown, shown_at=step.index)
        yield StepView(
            step=step.index,
            actions=tuple(action for action in step.actions if action.name is not None),
            reported=reported_milestones(step),
        )
        if step.after is not None:
            yield _page(step.index, step.after, tree_text)


def reported_milestones(step: StepRecord) -> dict[str, bool]:
    """What the environment said of its milestones after the step's action."""
    said = mapping((step.extra or {}).get("milestones"))
    return {name: reached for name, reached in said.items() if isinstance(reached, bool)}


def plain(text: str) -> str:
    """The text as comparisons see it: compatible forms, folded case, single spaces."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


@lru_cache(maxsize=20_000)
def plain_name(name: str) -> str:
    """The same for what comes again and again: patterns, and names of elements."""
    return plain(name)


def _page(
    step: int, seen: Observation | None, tree_text: TreeText, *, is_fresh_start: bool = False
) -> StepView:
    tree = tree_text(seen.a11y_tree) if seen is not None and seen.a11y_tree is not None else None
    return StepView(
        step=step,
        url=seen.url if seen is not None else None,
        tree=tree or None,
        is_fresh_start=is_fresh_start,
    )
