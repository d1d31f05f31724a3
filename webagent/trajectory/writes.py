"""Tell which actions look like writes: those that one would not want done twice.

Read off the action and the element it is aimed at, in English and Japanese. It errs on the side
of caution for buttons, and says nothing of what a page does by itself.
"""

import re
from collections.abc import Iterable, Mapping
from enum import StrEnum
from urllib.parse import urlsplit

from webagent.trajectory.actions import ActionKind, action_kind
from webagent.trajectory.records import ActionRecord, Target


class WriteKind(StrEnum):
    """What a write-like action seems to do."""

    SUBMIT = "submit"
    SAVE = "save"
    CREATE = "create"
    DELETE = "delete"
    PAY = "pay"
    SEND = "send"
    CONFIRM = "confirm"
    UPLOAD = "upload"


# Tried in this order: "Delete order" deletes, "Confirm payment" pays.
_WORDS: Mapping[WriteKind, str] = {
    WriteKind.DELETE: (
        r"delete|remove|discard|erase|destroy|purge|trash|archive|unsubscribe|deactivate|revoke"
        r"|(?:cancel|close|empty) (?:my |the |this )?"
        r"(?:order|subscription|booking|reservation|account|cart|request|incident|ticket)"
        r"|削除|消去|破棄|退会|解約|解除"
    ),
    WriteKind.PAY: (
        r"buy|pay|payment|purchase|order now|place (?:your |my |the )?order|check ?out|donate"
        r"|subscribe|book(?: it| now)?|reserve|bid|購入|支払|注文|予約|決済"
    ),
    WriteKind.SEND: (
        r"send|post|reply|publish|share|tweet|comment|forward|invite|notify"
        r"|送信|投稿|返信|公開|共有|転送|招待"
    ),
    WriteKind.UPLOAD: r"upload|import|attach|アップロード|添付",
    WriteKind.CREATE: (
        r"create|add|insert|new|register|sign ?up|enroll|duplicate|clone|fork|merge|assign"
        r"|作成|追加|登録|新規|複製|割り当て"
    ),
    WriteKind.SAVE: (
        r"save|update|apply changes|rename|edit|move|set|upvote|downvote|vote|like|follow|rate"
        r"|保存|更新|変更|いいね|フォロー"
    ),
    WriteKind.CONFIRM: r"confirm|accept|approve|reject|agree|yes|proceed|確認|承認|同意|はい",
    WriteKind.SUBMIT: r"submit|done|finish|complete|提出|完了",
}
_IS_ASCII = re.compile(r"[\x00-\x7f]+")


def _pattern(words: str) -> re.Pattern[str]:
    """English words as whole words; Japanese ones anywhere, as nothing stands between words."""
    english = "|".join(word for word in words.split("|") if _IS_ASCII.fullmatch(word))
    japanese = "|".join(word for word in words.split("|") if not _IS_ASCII.fullmatch(word))
    return re.compile(rf"(?<![\w-])(?:{english})(?!\w)|{japanese}", re.IGNORECASE)


_PATTERNS = {kind: _pattern(words) for kind, words in _WORDS.items()}

# What only looks: these words take back a match in the same text.
_ONLY_LOOKS = re.compile(
    r"(?<!\w)(?:search|filter|sort|find|show|view|preview|history|help|about|learn more"
    r"|what'?s new|latest|newest)(?!\w)|検索|絞り込み|並べ替え|表示",
    re.IGNORECASE,
)
# "Create" as a link opens a form; what a link alone does is to go somewhere.
_OF_LINKS = frozenset({WriteKind.DELETE, WriteKind.PAY, WriteKind.SEND, WriteKind.SAVE})
_PRESSED = frozenset(
    ["button", "link", "menuitem", "menuitemcheckbox", "image", "img", "generic", "tab", "switch"]
)
_TYPED_INTO = frozenset(["textbox", "combobox", "spinbutton", "inputtime", "date", "datetime"])
_CLICK_NAMES = (
    "click dblclick mouse_click mouse_dblclick left_click double_click click_element"
    " click_element_by_index"
)
_CLICKS = frozenset(_CLICK_NAMES.split())
_MAX_WORDS = 8
"""Texts longer than a label are no label."""
_WRITING_PATH = re.compile(r"/(?:delete|remove|destroy|unsubscribe)(?:/|$)", re.IGNORECASE)


def write_kind(calls: Iterable[ActionRecord], focused: Target | None = None) -> WriteKind | None:
    """What the first write-like call among these seems to do; None if none looks like one.

    Args:
        calls: with their targets' roles and texts, as the recorder fills them in.
        focused: the element with the focus, for keys that are pressed on no named element.
    """
    for call in calls:
        if (kind := _kind_of(call, focused)) is not None:
            return kind
    return None


def _kind_of(call: ActionRecord, focused: Target | None) -> WriteKind | None:
    name = call.name or ""
    if "upload" in name:
        return WriteKind.UPLOAD
    if name in _CLICKS:
        return _pressing(call.target)
    match action_kind(call):
        case ActionKind.KEY:
            if "Enter" in (_key(call) or ""):
                return _entering(call.target or focused)
        case ActionKind.NAV:
            url = call.args[0] if call.args else (call.named_args or {}).get("url")
            if isinstance(url, str) and _WRITING_PATH.search(_path(url)):
                return WriteKind.DELETE
    return None


def _pressing(target: Target | None) -> WriteKind | None:
    role = (target.role or "").lower() if target else ""
    text = (target.text or "").strip() if target else ""
    if target is None or role not in _PRESSED or len(text.split()) > _MAX_WORDS:
        return None
    found = next((kind for kind, pattern in _PATTERNS.items() if pattern.search(text)), None)
    if found is None or _ONLY_LOOKS.search(text):
        return None
    is_link = role in {"link", "tab"}
    return None if is_link and found not in _OF_LINKS else found


def _entering(target: Target | None) -> WriteKind | None:
    """Enter sends the form that a text field is part of; in a search field it only looks."""
    role = (target.role or "").lower() if target else ""
    text = (target.text or "") if target else ""
    if role in _PRESSED:
        return _pressing(target)
    if role in _TYPED_INTO and not _ONLY_LOOKS.search(text):
        return WriteKind.SUBMIT
    return None


def _key(call: ActionRecord) -> str | None:
    values = [*call.args, *(call.named_args or {}).values()]
    return next((value for value in reversed(values) if isinstance(value, str)), None)


def _path(url: str) -> str:
    try:
        return urlsplit(url).path
    except ValueError:
        return ""
