"""A model for the world of levers: it writes hints from runs, and acts on what hints tell it.

Acting, it trusts names in quotes: it presses the one that the page has, and despairs of the task
when the page has none of them. Words about a notice make it look there. Else it does what the
page says, or waits.
"""

import json
import re

from tests.webagent.lever_suite import NOTICE, TASKS
from tests.webagent.llm.protocols import Asked

INSIGHTS = [
    "Look at the whole page before pressing anything.",
    "A control without effect is the wrong one; leave it alone.",
    "Read every notice that appears after an action.",
    "Beware of names that resemble one another.",
    "Compare the goal with the names of the controls.",
    "Waiting rarely helps where nothing loads.",
    "Check that the state has changed once something was pressed.",
    "Giving up is right only when no control is left.",
]


def reply(asked: Asked) -> str:
    """A hint where one is asked for, else the next action."""
    if "You train agents" in asked.system:
        return json.dumps(_hint(asked))
    return f"<thought>As far as I can see.</thought>\n<action>{_action(asked)}</action>"


def _hint(asked: Asked) -> dict[str, object]:
    if "insights" in asked.schema["properties"]:
        return {"insights": INSIGHTS}
    site, label = next(
        (site, label) for site, goal, label in TASKS.values() if f"Task: {goal}\n" in asked.text
    )
    if "word for word" in asked.text:
        return {"steps": [{"action": f'Click "{label}".', "details": ["The task ends with it."]}]}
    where = f"Look at the {NOTICE[site]} and read what it says."
    return {"steps": [{"action": where, "details": ["Press the control that it names."]}]}


def _action(asked: Asked) -> str:
    tips = asked.system.partition("</tips>")[0]
    before, _code, page = asked.text.partition("The code word of this message")
    buttons = {name: bid for bid, name in re.findall(r"\[(\d+)\] button '([^']+)'", page)}

    def fresh(name: str) -> bool:
        return name in buttons and f"click('{buttons[name]}')" not in before

    told = re.findall(r'"([^"]+)"', tips)
    if told and not any(name in buttons for name in told):
        return "report_infeasible('This is another place.')"
    for name in told:
        if fresh(name):
            return f"click('{buttons[name]}')"
    if said := re.search(r"It says: ([a-z ]+)'", page):
        return f"click('{buttons[said[1]]}')"
    for notice in NOTICE.values():
        if f"the {notice}" in tips and fresh(notice):
            return f"click('{buttons[notice]}')"
    return "noop(10)"
