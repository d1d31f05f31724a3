"""The sections of an experiment's page: the question of each, its report, and its picture.

A section of one report needs no template of its own; `more` gives what one with forms or links
shows beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from django.urls import reverse
from django.utils.functional import Promise
from django.utils.http import urlencode
from django.utils.translation import gettext_lazy as _

from judging.analysis.experiments.controls import controls_name
from judging.analysis.experiments.facts import Facts
from judging.analysis.experiments.outcome_reports import compare_url
from judging.analysis.experiments.pairs import RULES, By, Cell, pair_all
from judging.analysis.experiments.pictures import QUESTIONS, shown_pictures
from judging.analysis.experiments.population import RunResult, Scope
from judging.analysis.experiments.reports import EXPERIMENT
from judging.analysis.failure_modes.sources import SOURCES, unexamined
from judging.analysis.failure_modes.words import definitions
from judging.analysis.miniwob import published
from judging.analysis.miniwob.causes import causes_of
from judging.analysis.miniwob.figures import is_suite
from judging.analysis.progress.reports import PROGRESS
from judging.analysis.reports.html import html_tables
from judging.analysis.reports.report import Cell as Linked
from judging.analysis.reports.report import Report
from runs.models import Experiment, Task

Query = Mapping[str, str]
OF_SUITE = "miniwob"
"""How the names of reports and sections of MiniWoB++ begin."""


class Section(NamedTuple):
    """A section: what it asks, and the names of its reports and its picture, if it has them."""

    title: Promise
    reports: Sequence[str] = ()
    picture: str = ""
    template: str = "judging/analysis/_report_section.html"
    more: Callable[[Facts, Query], dict[str, Any]] | None = None

    def context(self, facts: Facts, query: Query) -> dict[str, Any]:
        """What the template shows."""
        context: dict[str, Any] = {"title": self.title}
        made = [EXPERIMENT.make(name, facts) for name in self.reports]
        empty = made[0].empty if made else ""
        if made:
            tables = [] if empty else [table for each in made for table in html_tables(each)]
            context |= {"report": made[0], "tables": tables}
        if self.picture and not empty:
            context["pictures"] = shown_pictures(facts, self.picture)
        return context | (self.more(facts, query) if self.more else {})


def _pairs(facts: Facts, query: Query) -> dict[str, Any]:
    """The two configurations that the address names, or those with the most decided pairs."""
    by_pk = {each.pk: each for each in facts.configurations}
    found = pair_all(facts.scope, list(by_pk), facts.source, facts.query.by)
    wanted = (query.get("first"), query.get("second"))
    chosen = next((each for each in found if (str(each[0]), str(each[1])) == wanted), None) or max(
        found, key=lambda each: each[2].decided, default=None
    )
    if chosen is None:
        return {}
    first, second, pairing = by_pk[chosen[0]], by_pk[chosen[1]], chosen[2]
    address = compare_url(facts, first, second, pairing.by)
    other = By.TRIAL if pairing.by is By.SEED else By.SEED
    part = reverse("judging:experiment_part", args=[facts.experiment.pk, "pairs"])
    switched = {"pair": other.value, "first": first.pk, "second": second.pk}
    return {
        "first": first.name,
        "second": second.name,
        "pairing": pairing,
        "cells": {
            cell.value: Linked(pairing.counts[cell], f"{address}&cell={cell}#pairs")
            for cell in Cell
        },
        "address": address,
        "rule": RULES[pairing.by],
        "other_by": other,
        "other_url": f"{part}?{facts.parameters}&{urlencode(switched)}",
    }


def _failures(facts: Facts, query: Query) -> dict[str, Any]:
    failures = facts.scope.standing(facts.source).filter(standing=RunResult.FAILURE)
    return {
        "sources": SOURCES,
        "chosen_source": facts.query.modes_by,
        "definitions": definitions(),
        "unexamined": unexamined(failures).count(),
        "unexamined_url": facts.url(standing=RunResult.FAILURE, mode="unknown", by="mechanical"),
        "failures_url": facts.url(standing=RunResult.FAILURE),
    }


def _progress(facts: Facts, query: Query) -> dict[str, Any]:
    report = PROGRESS.make("configurations", facts) if facts.progress_choices else _NO_PROGRESS
    return {
        "report": report,
        "tables": [] if report.empty else html_tables(report),
        "whole": reverse("judging:experiment_progress_rates", args=[facts.experiment.pk]),
        "tasks_url": _tasks_url(facts),
    }


_NO_PROGRESS = Report(
    columns=[],
    rows=[],
    empty=_(
        "No progress known yet. Give the tasks milestones on their pages, "
        "then have the runs evaluated by milestones-mechanical or "
        "milestones-judge."
    ),
)


def _tasks_url(facts: Facts) -> str:
    """The list of tasks, of the sets that this is about: their milestones are written there."""
    shown = {each.task for each in facts.figures.sums if each.standing is not RunResult.HIDDEN}
    sets = Task.objects.filter(pk__among=shown).order_by("task_set").values_list("task_set")
    query = urlencode([("task_set", pk) for (pk,) in sets.distinct()])
    return f"{reverse('runs:task_list')}?{query}"


def _controls(facts: Facts, query: Query) -> dict[str, Any]:
    return {"own": Experiment.objects.filter(name=controls_name(facts.experiment)).first()}


def _miniwob_causes(facts: Facts, query: Query) -> dict[str, Any]:
    return {"samples": causes_of(facts.scope), "published": published}


_OWN = "judging/analysis/experiments/_experiment_{}.html"
SECTIONS: Mapping[str, Section] = {
    "accuracy": Section(
        QUESTIONS["accuracy"], picture="accuracy", template=_OWN.format("accuracy")
    ),
    "miniwob": Section(
        _("How well is MiniWoB++ solved?"),
        ("miniwob", "miniwob_steps", "miniwob_tasks", "miniwob_excluded"),
    ),
    "miniwob_causes": Section(
        _("What fails on MiniWoB++: seeing or reasoning?"),
        template=_OWN.format("miniwob_causes"),
        more=_miniwob_causes,
    ),
    "groups": Section(_("Where does it succeed?"), ("groups",)),
    "progress": Section(
        _("How far do runs get?"), template=_OWN.format("progress_rates"), more=_progress
    ),
    "pairs": Section(
        _("What does one solve that another does not?"),
        ("pairs",),
        template=_OWN.format("pairs"),
        more=_pairs,
    ),
    "recovery": Section(QUESTIONS["detections"], ("recovery",), "detections"),
    "trials": Section(QUESTIONS["trials"], ("trials",), "trials", template=_OWN.format("trials")),
    "lengths": Section(QUESTIONS["lengths"], ("lengths",), "lengths"),
    "failures": Section(
        _("How do runs fail?"), ("modes",), template=_OWN.format("failures"), more=_failures
    ),
    "endings": Section(_("How do runs end?"), ("endings",)),
    "controls": Section(
        _("What do evaluators let through for agents that solve nothing?"),
        ("controls",),
        template=_OWN.format("controls"),
        more=_controls,
    ),
    "infrastructure": Section(_("How often did the infrastructure fail?"), ("infrastructure",)),
}
"""By name in the address, in the page's order."""


def shown_for(scope: Scope) -> dict[str, Any]:
    """The sections and reports that have something to say of the experiment."""
    has_suite = is_suite(scope)
    return {
        "sections": {
            name: section
            for name, section in SECTIONS.items()
            if has_suite or not name.startswith(OF_SUITE)
        },
        "tables": {
            name: words
            for name, words in EXPERIMENT.names.items()
            if has_suite or not name.startswith(OF_SUITE)
        },
    }
