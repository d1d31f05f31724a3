"""Read actions written in BrowserGym's grammar, without running anything.

An agent's answer may hold any text. BrowserGym searches it for calls of plain literals,
`click('13')` or `mouse_click(10, 20.5)`, and ignores the rest; the reading here finds the
same calls, from literals only, in bounded time whatever the text.
"""

import ast
import re
import warnings
from collections.abc import Iterator
from enum import StrEnum
from typing import Any, NamedTuple

from pydantic import JsonValue

from webagent.trajectory.records import ActionRecord, Point, Target
from webagent.trajectory.redaction import is_password_field

DIALECT = "browsergym"

MAX_ACTION_CHARS = 200_000
MAX_CALLS = 200
MAX_FAILED_CALLS = 200
MAX_NESTING = 20


class ActionKind(StrEnum):
    """The families that a badge or a colour tells apart."""

    CLICK = "click"
    POINT = "point"
    TYPE = "type"
    NAV = "nav"
    SCROLL = "scroll"
    KEY = "key"
    MESSAGE = "message"
    WAIT = "wait"
    TAB = "tab"
    OTHER = "other"


_NAMES_OF_KIND: dict[ActionKind, str] = {
    # Whatever presses the pointer's button, dragging too.
    ActionKind.CLICK: (
        "click dblclick check uncheck drag_and_drop mouse_up mouse_down mouse_click mouse_dblclick"
        " mouse_drag_and_drop left_click right_click middle_click double_click triple_click"
        " click_element click_element_by_index left_click_drag drag left_mouse_down left_mouse_up"
    ),
    # Goes to a place or an element and does nothing to it yet.
    ActionKind.POINT: "hover focus mouse_move move",
    ActionKind.TYPE: (
        "fill clear select_option upload_file mouse_upload_file keyboard_type keyboard_insert_text"
        " type input input_text select_dropdown_option select_dropdown"
    ),
    ActionKind.NAV: "goto go_back go_forward goback navigate go_to_url search search_google",
    ActionKind.SCROLL: "scroll scroll_at scroll_down scroll_up scroll_to_text find_text",
    ActionKind.KEY: (
        "press keyboard_press keyboard_down keyboard_up key keypress hold_key send_keys"
    ),
    ActionKind.MESSAGE: "send_msg_to_user report_infeasible stop done answer task_complete",
    ActionKind.WAIT: "noop wait none",
    ActionKind.TAB: (
        "new_tab tab_close tab_focus close_tab page_focus switch_tab open_tab switch close"
    ),
}
_KIND_OF_NAME = {name: kind for kind, names in _NAMES_OF_KIND.items() for name in names.split()}

MESSAGE_ACTIONS = frozenset({"send_msg_to_user", "report_infeasible"})

_BID_ACTIONS = "click dblclick hover focus check uncheck fill clear select_option press upload_file"
_BID_PARAMETER = {**dict.fromkeys(_BID_ACTIONS.split(), "bid"), "drag_and_drop": "from_bid"}
_POINT_ACTIONS = (
    "mouse_move mouse_up mouse_down mouse_click mouse_dblclick mouse_upload_file scroll_at"
)
_POINT_PARAMETERS = {
    **dict.fromkeys(_POINT_ACTIONS.split(), ("x", "y")),
    "mouse_drag_and_drop": ("from_x", "from_y"),
}

# Each match takes a whole comment, number or word, so no character is read by two searches.
_TOKEN = re.compile(r"#[^\n]*|\d++|[^\W\d]\w*+(?P<opened>\s*+\()?+")
# A string begins at no escaped quote: else each of them in one without an end is tried.
_INSIDE_CALL = re.compile(
    r'#[^\n]*|(?<!\\)(?:"""(?:[^\\]|\\.)*?"""|\'\'\'(?:[^\\]|\\.)*?\'\'\''
    r'|"(?:[^"\\\n]|\\.)*+"|\'(?:[^\'\\\n]|\\.)*+\')|[()\[\]{}\'"]',
    re.DOTALL,
)
_CLOSES = {"(": ")", "[": "]", "{": "}"}


class _Call(NamedTuple):
    name: str
    args: tuple[JsonValue, ...]
    named_args: dict[str, JsonValue]
    end: int


def parse_browsergym_actions(raw: str) -> tuple[ActionRecord, ...]:
    """The calls in an agent's answer, in order; one record without a name if there is none.

    The `raw` of the records, joined, is the answer again: a record's text begins where the
    one before ended, and the last one has what follows. `target` and `point` hold only what
    the call itself says (a bid, coordinates); the recorder adds what the page knew.
    """
    calls = _find_calls(raw)
    if not calls:
        return (ActionRecord(raw=raw, dialect=DIALECT),)
    ends = [*(call.end for call in calls[:-1]), len(raw)]
    starts = [0, *ends[:-1]]
    return tuple(
        ActionRecord(
            raw=raw[start:end],
            dialect=DIALECT,
            name=call.name,
            args=call.args,
            named_args=call.named_args or None,
            target=_target(call),
            point=_point(call),
        )
        for call, start, end in zip(calls, starts, ends, strict=True)
    )


def action_kind(action: ActionRecord) -> ActionKind:
    """The family of an action, by its name in any dialect; `other` if it has none."""
    return _KIND_OF_NAME.get((action.name or "").lower(), ActionKind.OTHER)


def message_text(action: ActionRecord) -> str | None:
    """What a message to the user says; None if the action is no readable message."""
    if action.name not in MESSAGE_ACTIONS:
        return None
    parameter = "text" if action.name == "send_msg_to_user" else "reason"
    text = action.args[0] if action.args else (action.named_args or {}).get(parameter)
    return text if isinstance(text, str) else None


def typed_password(action: ActionRecord) -> Iterator[str]:
    """What it types into a field whose name asks for a password; its first argument names that."""
    if action.target and is_password_field(action.target.text):
        yield from (word for word in action.args[1:2] if isinstance(word, str))


def _find_calls(text: str) -> list[_Call]:
    calls: list[_Call] = []
    failures = position = 0
    if len(text) > MAX_ACTION_CHARS:
        return calls
    while len(calls) < MAX_CALLS and failures < MAX_FAILED_CALLS:
        match = _TOKEN.search(text, position)
        if match is None:
            break
        position = match.end()
        if match["opened"] is None:
            continue
        call = _read_call(text, match.start(), match.end())
        if call is None:
            # What stands inside may still be a call: `page.act(click('1'))`.
            failures += 1
        else:
            calls.append(call)
            position = call.end
    return calls


def _read_call(text: str, start: int, after_bracket: int) -> _Call | None:
    end = _end_of_call(text, after_bracket)
    if end is None:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # "\d" in a string is the agent's business
            # Brackets outside keep a call readable that is broken over indented lines.
            node = ast.parse(f"({text[start:end]})", mode="eval").body
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name)):
            return None
        args = tuple(_literal(arg) for arg in node.args)
        named_args = {_keyword(keyword): _literal(keyword.value) for keyword in node.keywords}
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return None
    return _Call(node.func.id, args, named_args, end)


def _end_of_call(text: str, position: int) -> int | None:
    """Index after the bracket that closes a call opened just before `position`."""
    expected = [")"]
    for match in _INSIDE_CALL.finditer(text, position):
        found = match[0]
        if found in _CLOSES:
            expected.append(_CLOSES[found])
            if len(expected) > MAX_NESTING:
                return None
        elif found in ")]}":
            if found != expected.pop():
                return None
            if not expected:
                return match.end()
        elif found in ("'", '"'):  # a string that never ends
            return None
    return None


def _keyword(keyword: ast.keyword) -> str:
    if keyword.arg is None:
        raise ValueError("** is not a literal argument")
    return keyword.arg


def _literal(node: ast.expr) -> JsonValue:
    """A JSON value from a node. Raises ValueError for all that is no such literal."""
    match node:
        case ast.Constant(value=bool() | None as plain):
            return plain
        case ast.Constant(value=str() as text):
            return _storable(text)
        case ast.Constant(value=int() | float() as number):
            return _bounded(number)
        case ast.UnaryOp(
            op=ast.USub() | ast.UAdd() as sign, operand=ast.Constant(value=int() | float() as size)
        ) if not isinstance(size, bool):
            return _bounded(-size if isinstance(sign, ast.USub) else size)
        case ast.List(elts=items) | ast.Tuple(elts=items):
            return [_literal(item) for item in items]
        case ast.Dict(keys=keys, values=values):
            return {_key(key): _literal(value) for key, value in zip(keys, values, strict=True)}
    raise ValueError(f"{type(node).__name__} is not a literal")


def _key(node: ast.expr | None) -> str:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return _storable(node.value)
    raise ValueError("keys are strings")


def _storable(text: str) -> str:
    """The text without what UTF-8 and databases cannot hold: lone surrogates and NUL."""
    return text.encode("utf-8", "replace").decode("utf-8").replace("\0", "\ufffd")


def _bounded(number: int | float) -> int | float:
    if not -(2**63) <= number < 2**63:  # infinities too
        raise ValueError("number out of range")
    return number


def _argument(call: _Call, parameter: str, position: int) -> JsonValue:
    if position < len(call.args):
        return call.args[position]
    return call.named_args.get(parameter)


def _target(call: _Call) -> Target | None:
    parameter = _BID_PARAMETER.get(call.name)
    bid = _argument(call, parameter, 0) if parameter else None
    return Target(bid=bid) if isinstance(bid, str) else None


def _point(call: _Call) -> Point | None:
    parameters = _POINT_PARAMETERS.get(call.name)
    if parameters is None:
        return None
    x, y = (_argument(call, parameter, place) for place, parameter in enumerate(parameters))
    if isinstance(x, bool) or isinstance(y, bool):
        return None
    if isinstance(x, int | float) and isinstance(y, int | float):
        return Point(x=x, y=y)
    return None


def with_outcome(actions: tuple[ActionRecord, ...], error: str | None) -> tuple[ActionRecord, ...]:
    """The actions with their status, told one error for all of them, or that there was none.

    Of several, the one that the error names failed; where it names none, the last: those before
    it may or may not have been done.
    """
    if error is None:
        return tuple(action.model_copy(update={"status": "ok"}) for action in actions)
    named = next((i for i, action in enumerate(actions) if _names(error, action)), None)
    failed = len(actions) - 1 if named is None else named
    outcomes: list[dict[str, Any]] = [
        {"status": "ok" if named is not None and index < failed else "unknown"}
        for index in range(len(actions))
    ]
    if outcomes:
        outcomes[failed] = {"status": "error", "error": error}
    return tuple(
        action.model_copy(update=outcome) for action, outcome in zip(actions, outcomes, strict=True)
    )


def _names(error: str, action: ActionRecord) -> bool:
    bid = action.target.bid if action.target else None
    return bool(bid) and (f'"{bid}"' in error or f"'{bid}'" in error)
