"""What the part about switches shows: the switches, and what would be beside what is."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple
from urllib.parse import urlencode
from uuid import UUID

from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from judging.analysis.audits.what_if.recomputing import Change, Compared, most_correcting
from judging.analysis.audits.what_if.settings import STAGES, Setting, setting_of
from judging.evaluators.judges.outcome import StageName
from judging.evaluators.matchers import TaskVersion
from judging.evaluators.matching.repaired.rules import (
    ALL_RULES,
    DESCRIPTIONS,
    LABELS,
    REJECTING,
    Rule,
)
from judging.evaluators.registry import model_asked_by
from judging.models import EvaluatorVersion, Study
from runs.interface.sentences import labelled, listed
from runs.models import TaskSet

_WANTED = {1: "right", -1: "wrong", 0: "open"}
"""Whether a change is what one wants, by its gain."""
MOST_SHOWN = 100
"""Runs that are listed of those that would move in one way."""
_STAGES: Mapping[StageName, Promise] = {
    StageName.EQUIVALENCE: gettext_lazy("Stage 1: the answer means the same as the reference"),
    StageName.INCLUSION: gettext_lazy("Stage 2: the answer holds the reference's key information"),
}
_TASKS: Mapping[TaskVersion, Promise] = {
    TaskVersion.RECORDED: gettext_lazy("as recorded"),
    TaskVersion.PATCHED: gettext_lazy("as patched"),
}


def judged_tasks(version: EvaluatorVersion) -> str:
    """Which version of the tasks it reads, in words; empty where that is not known."""
    setting = setting_of(version)
    tasks = setting.tasks or (TaskVersion.RECORDED if setting.stages is not None else None)
    return str(_TASKS[tasks]) if tasks else ""


class Switch(NamedTuple):
    """One rule, stage or version of the tasks with its box."""

    key: str
    name: str | Promise
    description: str
    is_on: bool


def opening(study: Study, setting: Setting) -> Setting:
    """With the one switch thrown that corrects most; as it is where none corrects more than it
    breaks.
    """
    stages = setting.stages or ()
    others = [
        replace(setting, stages=tuple(each for each in STAGES if (each in stages) != (each is one)))
        for one in (STAGES if setting.stages is not None else ())
    ]
    if _has_task_choice(study, setting):
        others += [replace(setting, tasks=each) for each in TaskVersion if each != setting.tasks]
    return most_correcting(study, setting, others) or setting


def switches(study: Study, setting: Setting) -> dict[str, Any]:
    """The boxes of the form; no group where the evaluator has nothing of the kind."""
    return {
        "groups": [] if setting.rules is None else _rule_groups(setting.rules),
        "stages": [
            Switch(each.value, each.value, str(_STAGES[each]), each in (setting.stages or ()))
            for each in (() if setting.stages is None else STAGES)
        ],
        "tasks": [
            Switch(each.value, name, "", setting.tasks is each)
            for each, name in (_TASKS.items() if _has_task_choice(study, setting) else ())
        ],
        "all_on": replace(setting, rules=ALL_RULES).address,
        "all_off": replace(setting, rules=frozenset()).address,
        "as_stored": setting_of(setting.version).address,
    }


def _has_task_choice(study: Study, setting: Setting) -> bool:
    sets = TaskSet.objects.filter(parent__tasks__runs__study_items__study=study)
    has_patched = sets.exists()
    return setting.tasks is not None and (has_patched or setting.tasks is TaskVersion.PATCHED)


def thrown(stored: Setting, setting: Setting) -> str:
    """The switch in which they differ, in words; empty where there is none."""
    if rules := (stored.rules or frozenset()) ^ (setting.rules or frozenset()):
        rule = next(iter(rules))
        state = _("on") if rule in (setting.rules or ()) else _("off")
        return labelled(_(LABELS[rule]), state)
    if setting.stages != stored.stages:
        return listed(_STAGES[each] for each in setting.stages or ()) or _("no stage")
    if setting.tasks is None or setting.tasks == stored.tasks:
        return ""
    return str(_TASKS[setting.tasks])


def _rule_groups(enabled: frozenset[Rule]) -> list[tuple[str, list[Switch]]]:
    def listed(rules: Iterable[Rule]) -> list[Switch]:
        return [
            Switch(rule.value, _(LABELS[rule]), _(DESCRIPTIONS[rule]), rule in enabled)
            for rule in rules
        ]

    urls = [rule for rule in Rule if rule.startswith("url_")]
    accepting = [rule for rule in Rule if rule not in urls and rule not in REJECTING]
    rejecting = [rule for rule in Rule if rule not in urls and rule in REJECTING]
    return [
        (_("Accept more answers"), listed(accepting)),
        (_("Reject what only looks right"), listed(rejecting)),
        (_("URLs"), listed(urls)),
    ]


def compared_page(study: Study, setting: Setting, compared: Compared) -> dict[str, Any]:
    """What would be, beside what is."""
    evaluator, now, then = setting.evaluator(), compared.now, compared.then
    stored = EvaluatorVersion.objects.filter(config_hash=evaluator.identity.config_hash)

    def url(run_id: UUID, cell: str) -> str:
        walk = {"study": study.pk, "audit": setting.version.pk, "cell": cell}
        return f"{reverse('runs:run_detail', args=[run_id])}?{urlencode(walk)}"

    return {
        "compared": compared,
        # The five cells, now and then.
        "cells": [
            *((key, getattr(now, key), getattr(then, key)) for key in ("tp", "fn", "tn", "fp")),
            ("none", now.no_verdict, then.no_verdict),
        ],
        "rates": [(*each, None) for each in compared.rates],
        # The runs that would move, by how; the first of them with the address of the run.
        "moved": [
            {
                "name": change.label,
                "kind": _WANTED[change.gain],
                "total": len(flips),
                "flips": [(flip, url(flip.run_id, flip.now.value)) for flip in flips[:MOST_SHOWN]],
                "left": max(0, len(flips) - MOST_SHOWN),
            }
            for change in Change
            if (flips := compared.flips.get(change))
        ],
        # Why there would be no verdict, the commonest first.
        "reasons": compared.reasons.most_common(),
        # The version that is so switched already, if there is one.
        "stored_as": stored.first() if setting.is_changed else None,
        # The model that the new version would ask; empty where it asks none.
        "model": model_asked_by(evaluator),
    }
