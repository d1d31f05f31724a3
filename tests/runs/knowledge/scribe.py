"""A stub that studies logs the way a plain reader would: by what the log says went wrong."""

import json
import re

from tests.webagent.llm.protocols import Asked

_STEP = re.compile(r"^Step (\d+), on .*\n((?:  .*\n?)+)", re.MULTILINE)
_NOTE = re.compile(r"^Note (\d+)\nintent: (.*)$", re.MULTILINE)
KINDS = {
    "fill": "Fill a field",
    "click": "Use an element of the page",
    "send_msg_to_user": "Tell the user",
    "noop": "Wait for the page",
    "mouse_click": "Click at a place of the page",
}


def scribe(asked: Asked) -> str:
    """What the stub says to a question of either kind."""
    if "\nNote " in asked.text:
        return json.dumps({"entries": _summary(asked.text)})
    return json.dumps({"entries": _found(asked.text)})


def leaky_scribe(asked: Asked) -> str:
    """The same, but it copies a note word by word until it is sent back, and then the last one."""
    said = json.loads(scribe(asked))
    if "\nNote " in asked.text:
        number, intent = _NOTE.findall(asked.text)[-1]
        said["entries"].append(
            {"intent": intent, "ok": "", "ng": "It did nothing.", "sources": [int(number)]}
        )
    return json.dumps(said)


def _found(text: str) -> list[dict[str, object]]:
    entries: list[dict[str, object]] = []
    for number, lines in _STEP.findall(text):
        action = re.search(r"  action: (.*)", lines)
        wrong = re.search(r"  (refused: .*|the page looked the same afterwards)", lines)
        done = action[1] if action else "nothing"
        entries.append(
            {
                "intent": f"Do {done}",
                "ok": "" if wrong else f"{done} changed the page",
                "ng": f"{done} at step {number}: {wrong[1]}" if wrong else "",
                "steps": [int(number)],
            }
        )
    return entries[:40]


def _summary(text: str) -> list[dict[str, object]]:
    sources: dict[str, list[int]] = {}
    for number, intent in _NOTE.findall(text):
        kind = re.search(r"Do (\w+)", intent)
        want = KINDS.get(kind[1] if kind else "", "Do something else")
        sources.setdefault(want, []).append(int(number))
    return [
        {
            "intent": want,
            "ok": "Look at the page first.",
            "ng": "Doing it blindly changes nothing.",
            "sources": numbers,
        }
        for want, numbers in sources.items()
    ]
