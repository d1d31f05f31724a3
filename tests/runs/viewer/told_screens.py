"""A step of an agent that is told screens as text, with all that is kept of such a step."""

import json
from typing import Any

from runs.models import Attachment, Run, Task
from runs.viewer.timeline.step_details import LINES, PAGE, PIECES
from tests.runs.factories import make_picture, make_run, make_text

OK = {"bid": "7", "role": "button", "text": "Ok", "box": [20, 80, 60, 110]}
NEXT = {"bid": "8", "role": "button", "text": "Next", "box": [20, 120, 80, 150]}
TREE = "RootWebArea 'Click'\n\t[7] button 'Ok'\n\t[8] button 'Next'\n"


def piece(text: str, box: list[int], kind: str = "button") -> dict[str, Any]:
    return {"kind": kind, "text": text, "box": box}


def make_told_run(
    pieces: list[dict[str, Any]],
    *,
    lines: str | None = None,
    over: list[dict[str, Any]] | None = None,
    task: Task | None = None,
    goal: str = 'Click on the "Ok" button.',
    page: str = "click-button",
    **fields: Any,
) -> Run:
    """A run of one step that was told these pieces; the page has the buttons Ok and Next.

    Args:
        over: what the page has besides, after these two.
        page: its name in MiniWoB++.
    """
    if lines is None:
        lines = "\n".join(f"{each['text']!r} {each['kind']}: {each['box']}" for each in pieces)
    more = over or []
    tree = TREE + "".join(f"\t[{each['bid']}] {each['role']} {each['text']!r}\n" for each in more)
    elements = {"size": [320, 200], "elements": [OK, NEXT, *more]}
    files = {
        LINES: make_text(lines),
        PIECES: make_text(json.dumps({"items": pieces}), "application/json"),
        PAGE: make_text(json.dumps(elements), "application/json"),
    }
    step = {
        "screenshot": make_picture("told"),
        "tree": make_text(tree),
        "url": f"http://miniwob.localhost/miniwob/{page}.html",
        "action": "mouse_click(40, 95)",
        "record": {
            "before": {role: {"sha256": blob.pk} for role, blob in files.items()},
            "actions": [{"raw": "mouse_click(40, 95)", "dialect": "browsergym"}],
        },
    }
    run = make_run(steps=[step], task=task, goal=goal, pictures=False, **fields)
    Attachment.objects.bulk_create(
        Attachment(run=run, step_index=0, role=role, blob=blob) for role, blob in files.items()
    )
    return run
