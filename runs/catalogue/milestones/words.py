"""Milestones' checks in plain words."""

from __future__ import annotations

from typing import NamedTuple

from django.utils.translation import gettext as _

from runs.catalogue.milestones.definitions import definition_of
from runs.catalogue.milestones.forms import STATES
from runs.models import Milestone, Task
from webagent.milestones.checks import (
    ActionCheck,
    Check,
    ElementCheck,
    ReportedCheck,
    TextCheck,
    UrlCheck,
)


class MilestoneRow(NamedTuple):
    """One milestone as a table shows it."""

    milestone: Milestone
    share: float
    """Of the whole weight, in percent."""
    reached: str
    lost: str


def milestone_rows(task: Task) -> list[MilestoneRow]:
    """The task's milestones in force, in order. One query."""
    rows = list(task.milestones.in_force())
    whole = sum(row.weight for row in rows)
    made = []
    for row in rows:
        rule = definition_of(row).rule
        lost = check_in_words(rule.lost_when) if rule and rule.lost_when else ""
        reached = check_in_words(rule.reached_when) if rule else ""
        made.append(MilestoneRow(row, 100 * row.weight / whole, reached, lost))
    return made


def check_in_words(check: Check) -> str:
    """What a check looks for."""
    match check:
        case UrlCheck():
            return _("the address is %(pattern)s") % {"pattern": check.pattern}
        case TextCheck():
            return _("the page contains “%(text)s”") % {"text": check.text}
        case ElementCheck():
            return _element(check)
        case ActionCheck():
            return _action(check)
        case ReportedCheck():
            return _("the environment reports “%(name)s”") % {"name": check.name}


def _element(check: ElementCheck) -> str:
    called = " ".join(filter(None, (check.role, f"“{check.name}”" if check.name else "")))
    state = str(dict(STATES)[check.state])
    if check.state == "value":
        return _("%(element)s is %(state)s “%(value)s”") % {
            "element": called,
            "state": state,
            "value": check.value,
        }
    return _("%(element)s is %(state)s") % {"element": called, "state": state}


def _action(check: ActionCheck) -> str:
    parts = [check.action or _("any action")]
    if check.target:
        parts.append(_("on “%(target)s”") % {"target": check.target})
    if check.text:
        parts.append(_("with “%(text)s”") % {"text": check.text})
    return _("the agent does: %(what)s") % {"what": " ".join(parts)}
