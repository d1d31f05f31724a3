"""The actions that a model may choose from: BrowserGym's high-level set, without its uploads.

What is here is what the browser's side executes; a test holds both together. A call is read with
the project's own parser and checked against the parameters: nothing of it is ever run.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from enum import StrEnum

from pydantic import JsonValue

from webagent.trajectory.actions import MAX_ACTION_CHARS, parse_browsergym_actions
from webagent.trajectory.records import ActionRecord


class BadAction(ValueError):
    """What a model wrote is no action of its set; the message tells the model why."""


class Kind(StrEnum):
    """What an argument may be, in the words of a prompt."""

    BID = "bid"
    TEXT = "str"
    TEXTS = "str | list[str]"
    NUMBER = "float"
    INTEGER = "int"
    FLAG = "bool"
    BUTTON = "'left' | 'middle' | 'right'"
    MODIFIERS = "list['Alt' | 'Control' | 'ControlOrMeta' | 'Meta' | 'Shift']"


_BUTTONS = ("left", "middle", "right")
_MODIFIERS = ("Alt", "Control", "ControlOrMeta", "Meta", "Shift")


@dataclass(frozen=True, slots=True)
class Parameter:
    """`default` None: it must be given."""

    name: str
    kind: Kind
    default: str | None = None

    @property
    def signature(self) -> str:
        words = f"{self.name}: {'str' if self.kind is Kind.BID else self.kind}"
        return words if self.default is None else f"{words} = {self.default}"


@dataclass(frozen=True, slots=True)
class Action:
    """One action. `group` is BrowserGym's subset, or `wait`, which is always there."""

    name: str
    group: str
    parameters: tuple[Parameter, ...]

    @property
    def signature(self) -> str:
        return f"{self.name}({', '.join(each.signature for each in self.parameters)})"


def _action(name: str, group: str, *parameters: Parameter) -> Action:
    return Action(name, group, parameters)


_BID = Parameter("bid", Kind.BID)
_X, _Y = Parameter("x", Kind.NUMBER), Parameter("y", Kind.NUMBER)
_BUTTON = Parameter("button", Kind.BUTTON, "'left'")
_HELD = Parameter("modifiers", Kind.MODIFIERS, "[]")
_TEXT = Parameter("text", Kind.TEXT)
_KEY = Parameter("key", Kind.TEXT)
_AUTOCOMPLETE = Parameter("enable_autocomplete_menu", Kind.FLAG, "False")
_FROM_AND_TO = [Parameter(name, Kind.BID) for name in ("from_bid", "to_bid")]
_SCROLLED = [Parameter(name, Kind.NUMBER) for name in ("delta_x", "delta_y")]
_SCROLLED_AT = [Parameter(name, Kind.INTEGER) for name in ("x", "y", "dx", "dy")]
_PATH = [Parameter(name, Kind.NUMBER) for name in ("from_x", "from_y", "to_x", "to_y")]

ACTIONS = {
    action.name: action
    for action in (
        _action("noop", "wait", Parameter("wait_ms", Kind.NUMBER, "1000")),
        _action("send_msg_to_user", "chat", _TEXT),
        _action("report_infeasible", "infeas", Parameter("reason", Kind.TEXT)),
        _action("scroll", "bid", *_SCROLLED),
        _action("fill", "bid", _BID, Parameter("value", Kind.TEXT), _AUTOCOMPLETE),
        _action("select_option", "bid", _BID, Parameter("options", Kind.TEXTS)),
        _action("click", "bid", _BID, _BUTTON, _HELD),
        _action("dblclick", "bid", _BID, _BUTTON, _HELD),
        _action("hover", "bid", _BID),
        _action("press", "bid", _BID, Parameter("key_comb", Kind.TEXT)),
        _action("focus", "bid", _BID),
        _action("clear", "bid", _BID),
        _action("drag_and_drop", "bid", *_FROM_AND_TO),
        _action("scroll_at", "coord", *_SCROLLED_AT),
        _action("mouse_move", "coord", _X, _Y),
        _action("mouse_up", "coord", _X, _Y, _BUTTON),
        _action("mouse_down", "coord", _X, _Y, _BUTTON),
        _action("mouse_click", "coord", _X, _Y, _BUTTON),
        _action("mouse_dblclick", "coord", _X, _Y, _BUTTON),
        _action("mouse_drag_and_drop", "coord", *_PATH),
        _action("keyboard_down", "coord", _KEY),
        _action("keyboard_up", "coord", _KEY),
        _action("keyboard_press", "coord", _KEY),
        _action("keyboard_type", "coord", _TEXT),
        _action("keyboard_insert_text", "coord", _TEXT),
        _action("go_back", "nav"),
        _action("go_forward", "nav"),
        _action("goto", "nav", Parameter("url", Kind.TEXT)),
        _action("tab_close", "tab"),
        _action("tab_focus", "tab", Parameter("index", Kind.INTEGER)),
        _action("new_tab", "tab"),
    )
}
GROUPS = ("chat", "infeas", "bid", "coord", "nav", "tab")


def chosen_actions(names: Iterable[str]) -> tuple[Action, ...]:
    """The actions of these names and groups, and waiting, in the order of `ACTIONS`.

    Raises:
        ValueError: a name is neither.
    """
    wanted = set(names)
    if unknown := sorted(wanted - set(GROUPS) - set(ACTIONS)):
        raise ValueError(
            f"there is no action and no group {unknown[0]!r}; the groups are {', '.join(GROUPS)}"
        )
    return tuple(
        action
        for action in ACTIONS.values()
        if action.name in wanted or action.group in wanted or action.group == "wait"
    )


def read_action(
    text: str, allowed: Collection[Action], bids: Collection[str] | None = None
) -> ActionRecord:
    """The one call that the text is.

    Args:
        bids: of the elements on the page; None if they are not known.

    Raises:
        BadAction: it is no call, several, none of the allowed, or has arguments that do not fit.
    """
    if len(text) > MAX_ACTION_CHARS:
        raise BadAction("the action is far too long")
    call = _one_call(text)
    known = {action.name: action for action in allowed}
    if call.name not in known:
        raise BadAction(f"{call.name!r} is not one of your actions, which are: {', '.join(known)}")
    _check_arguments(known[call.name], call, bids)
    return call


def _one_call(text: str) -> ActionRecord:
    if not text:
        raise BadAction("there is no action in it")
    # A call behind it shows where the first one ends: the parser passes over what is no call.
    *calls, _ = parse_browsergym_actions(f"{text}\nnoop()")
    if not calls or calls[0].name is None or not text.startswith(calls[0].name):
        raise BadAction("the action is not a call such as click('12'), with plain values in it")
    if len(calls) > 1:
        raise BadAction(f"it has {len(calls)} actions; give exactly one")
    if calls[0].raw != text:
        raise BadAction("there is more than one call in the action; give the call and nothing else")
    return calls[0]


def _check_arguments(action: Action, call: ActionRecord, bids: Collection[str] | None) -> None:
    given = _given(action, call)
    for parameter in action.parameters:
        if parameter.name not in given:
            if parameter.default is None:
                raise BadAction(
                    f"the argument {parameter.name!r} is missing; it is {action.signature}"
                )
            continue
        value = given[parameter.name]
        if not _fits(parameter.kind, value):
            raise BadAction(
                f"the argument {parameter.name!r} of {action.name} must be "
                f"{_IN_WORDS[parameter.kind]}"
            )
        if parameter.kind is Kind.BID and bids is not None and value not in bids:
            raise BadAction(f"there is no element with the bid {str(value)[:40]!r} on the page")


def _given(action: Action, call: ActionRecord) -> dict[str, JsonValue]:
    if len(call.args) > len(action.parameters):
        raise BadAction(f"{action.name} has too many arguments; it is {action.signature}")
    given = {
        parameter.name: value
        for parameter, value in zip(action.parameters, call.args, strict=False)
    }
    names = {parameter.name for parameter in action.parameters}
    for name, value in (call.named_args or {}).items():
        if name not in names or name in given:
            raise BadAction(f"{action.name} cannot take {name!r} so; it is {action.signature}")
        given[name] = value
    return given


_IN_WORDS = {
    Kind.BID: "a bid in quotes",
    Kind.TEXT: "a text in quotes",
    Kind.TEXTS: "a text in quotes, or a list of them",
    Kind.NUMBER: "a number",
    Kind.INTEGER: "a whole number",
    Kind.FLAG: "True or False",
    Kind.BUTTON: str(Kind.BUTTON),
    Kind.MODIFIERS: f"a {Kind.MODIFIERS}",
}


def _fits(kind: Kind, value: JsonValue) -> bool:
    match kind:
        case Kind.BID | Kind.TEXT:
            return isinstance(value, str)
        case Kind.TEXTS:
            texts = value if isinstance(value, list) else [value]
            return all(isinstance(each, str) for each in texts)
        case Kind.NUMBER:
            return isinstance(value, int | float) and not isinstance(value, bool)
        case Kind.INTEGER:
            return isinstance(value, int) and not isinstance(value, bool)
        case Kind.FLAG:
            return isinstance(value, bool)
        case Kind.BUTTON:
            return value in _BUTTONS
        case Kind.MODIFIERS:
            return isinstance(value, list) and all(each in _MODIFIERS for each in value)
