"""Mechanical checks: whether one step shows, or did, what a milestone asks for.

A check looks at a single step. Patterns know `*` alone, so that no page can make one slow.
"""

import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Annotated, Literal, Self
from urllib.parse import unquote

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    model_validator,
)

from webagent.trajectory.axtree import Node, parse_axtree
from webagent.trajectory.records import ActionRecord

MAX_CHARS = 500


def _not_only_stars(pattern: str) -> str:
    if not pattern.strip("* "):
        raise ValueError("a pattern holds more than *")
    return pattern


Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=MAX_CHARS)]
Pattern = Annotated[Text, AfterValidator(_not_only_stars)]
Optional = Annotated[str, StringConstraints(strip_whitespace=True, max_length=MAX_CHARS)]


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
        """The words of the page, to be compared; of a tree of unknown form all that it holds."""
        if not self.nodes:
            return _plain(self.tree or "")
        words = (word for node in self.nodes for word in (node.name, node.value) if word)
        return _plain(" ".join(words))


class _Check(BaseModel):
    """All checks answer three questions of a look.

    `can_see`: is there anything to look at, such as a page? `finds`: is it so? None where that is
    not to be seen. `evidence`: what was found, in words.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    @property
    def can_pass(self) -> bool:
        """Whether a look that shows the contrary takes away what was reached."""
        return False

    def can_see(self, seen: StepView) -> bool:
        return seen.tree is not None


class UrlCheck(_Check):
    """The page's address fits a pattern: all of it, `*` standing for any characters.

    Percent-encoding, a final slash and the case of the letters make no difference.
    """

    kind: Literal["url"] = "url"
    pattern: Pattern

    def can_see(self, seen: StepView) -> bool:
        return seen.url is not None

    def finds(self, seen: StepView) -> bool | None:
        both = (self.pattern, seen.url or "")
        return fits(*(unquote(each).casefold().rstrip("/") for each in both))

    def evidence(self, seen: StepView) -> str:
        return f"the address is {(seen.url or '')[:MAX_CHARS]}"


class TextCheck(_Check):
    """Words stand on the page, in the names and values of its accessibility tree.

    Space, case and width of the characters make no difference; `*` stands for any characters.
    """

    kind: Literal["text"] = "text"
    text: Pattern

    def finds(self, seen: StepView) -> bool | None:
        return fits(f"*{_plain_name(self.text)}*", seen.text)

    def evidence(self, seen: StepView) -> str:
        return f"the page says “{self.text}”"


class ElementCheck(_Check):
    """An element of a role and a name is on the page, in a state.

    Attributes:
        role: as the tree names it, such as checkbox or textbox; empty for any.
        name: a pattern for the whole name; empty for any.
        state: `present`, or a flag of the tree; `value` compares what is entered.
        value: for `value` alone, a pattern for the whole of it; `*` is any text, but not none.
    """

    kind: Literal["element"] = "element"
    role: Optional = ""
    name: Optional = ""
    state: Literal[
        "present", "checked", "unchecked", "selected", "expanded", "disabled", "focused", "value"
    ] = "present"
    value: Optional = ""

    @model_validator(mode="after")
    def _asks_for_something(self) -> Self:
        if not self.role and not self.name:
            raise ValueError("an element needs a role or a name")
        return self

    @property
    def can_pass(self) -> bool:
        """A state passes; having been there does not."""
        return self.state != "present"

    def finds(self, seen: StepView) -> bool | None:
        """Whether the element is so; None where a page does not show it at all.

        An element of another page keeps the state in which it was last seen.
        """
        found = [node for node in seen.nodes if self._is_meant(node)]
        if self.state == "present":
            return bool(found)
        return any(self._is_so(node) for node in found) if found else None

    def evidence(self, seen: StepView) -> str:
        node = next(node for node in seen.nodes if self._is_meant(node) and self._is_so(node))
        called = f"{node.role} “{node.name[:MAX_CHARS]}”"
        if self.state == "value":
            return f"{called} holds “{(node.value or '')[:MAX_CHARS]}”"
        return f"{called} is {'there' if self.state == 'present' else self.state}"

    def _is_meant(self, node: Node) -> bool:
        if self.role and node.role.lower() != self.role.lower():
            return False
        return not self.name or fits(_plain_name(self.name), _plain_name(node.name))

    def _is_so(self, node: Node) -> bool:
        if self.state == "present":
            return True
        if self.state == "value":
            wanted, held = _plain(self.value), _plain(node.value or "")
            # Who writes "filled with *" means a text, whatever it is, and no empty field.
            return fits(wanted, held) and bool(held or not wanted)
        return not node.has("checked") if self.state == "unchecked" else node.has(self.state)


class ActionCheck(_Check):
    """The agent did something, without an error.

    Attributes:
        action: the action's name, such as click, fill or send_msg_to_user; empty for any.
        target: a pattern for what it was done to, as the page calls it; empty for anything.
        text: a pattern for what it wrote, chose or said; empty for anything.
    """

    kind: Literal["action"] = "action"
    action: Optional = ""
    target: Optional = ""
    text: Optional = ""

    @model_validator(mode="after")
    def _asks_for_something(self) -> Self:
        if not (self.action or self.target or self.text):
            raise ValueError("an action needs a name, a target or a text")
        return self

    def can_see(self, seen: StepView) -> bool:
        return bool(seen.actions)

    def finds(self, seen: StepView) -> bool | None:
        return any(self._is_meant(action) for action in seen.actions)

    def evidence(self, seen: StepView) -> str:
        action = next(action for action in seen.actions if self._is_meant(action))
        called = action.target.text if action.target else None
        return f"{action.name} on “{called[:MAX_CHARS]}”" if called else f"{action.name}"

    def _is_meant(self, action: ActionRecord) -> bool:
        if action.status == "error" or action.error:
            return False
        if self.action and (action.name or "").lower() != self.action.lower():
            return False
        if self.target:
            called = action.target.text if action.target else None
            if called is None or not fits(_plain(self.target), _plain(called)):
                return False
        return not self.text or any(
            fits(_plain(self.text), _plain(value)) for value in _written(action)
        )


class ReportedCheck(_Check):
    """The environment itself says so: a benchmark that knows its milestones."""

    kind: Literal["reported"] = "reported"
    name: Text

    @property
    def can_pass(self) -> bool:
        """A report can be taken back."""
        return True

    def can_see(self, seen: StepView) -> bool:
        return self.name in seen.reported

    def finds(self, seen: StepView) -> bool | None:
        return seen.reported.get(self.name)

    def evidence(self, seen: StepView) -> str:
        return "the environment reported it"


Check = Annotated[
    UrlCheck | TextCheck | ElementCheck | ActionCheck | ReportedCheck, Field(discriminator="kind")
]


def fits(pattern: str, text: str) -> bool:
    """Whether the whole text is what the pattern says, `*` standing for any characters.

    In time that grows with pattern plus text for each star, whatever they hold.
    """
    first, *rest = pattern.split("*")
    if not rest:
        return first == text
    *middle, last = rest
    if not text.startswith(first):
        return False
    position = len(first)
    for part in middle:
        found = text.find(part, position)
        if found < 0:
            return False
        position = found + len(part)
    return len(text) - len(last) >= position and text.endswith(last)


def _plain(text: str) -> str:
    """The text as comparisons see it: compatible forms, folded case, single spaces."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


@lru_cache(maxsize=20_000)
def _plain_name(name: str) -> str:
    """The same for what comes again and again: patterns, and names of elements."""
    return _plain(name)


def _written(action: ActionRecord) -> Iterable[str]:
    """The texts among an action's arguments, but for the id of the element."""
    bid = action.target.bid if action.target else None
    values = [*action.args, *(action.named_args or {}).values()]
    for value in values:
        for one in value if isinstance(value, list) else [value]:
            if isinstance(one, str) and not (one == bid and value is values[0]):
                yield one
