"""The reports of a replication: each table of the paper beside ours, what differs, and what all of
it rests on.
"""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Iterator, Sequence
from functools import cached_property, partial
from importlib.metadata import PackageNotFoundError, version
from itertools import groupby
from typing import Any

from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from judging.analysis.reports.registry import Entry, Registry
from judging.analysis.reports.report import Cell, Report, Value, in_files, text
from judging.analysis.reports.showing import Shown
from judging.analysis.reports.writing import write_document
from judging.models import Replication, Study
from judging.replication.deviations import FOUND_BY, MARK, Deviation, deviations_of
from judging.replication.expected import plan
from judging.replication.figures import Figure, amounts, figures_of, show_difference, show_published
from judging.replication.sources import ArmRuns, Sources
from judging.replication.study_file import Table
from runs.models import Experiment, RetryPolicy, TaskSet
from webagent.trajectory.canonical import json_digest
from webagent.trajectory.formats.native.writer import PRODUCER

PLAN, DEVIATIONS, VERSIONS = "plan", "deviations", "versions"


class ReplicationFacts(Sources):
    """A replication as a reader may know it, with its reports."""

    @cached_property
    def deviations(self) -> list[Deviation]:
        return deviations_of(self)

    @cached_property
    def registry(self) -> Registry[ReplicationFacts]:
        """A report for each table of the file, and those that every replication has."""
        tables: dict[str, Entry] = {
            table.key: Entry(_named(table), partial(_table, table=table))
            for table in self.file.tables
        }
        return Registry(
            {
                **tables,
                PLAN: Entry(_("Plan"), plan),
                DEVIATIONS: Entry(_("Deviations from the paper"), _deviations),
                VERSIONS: Entry(_("Versions, seeds and hashes"), _versions),
            }
        )

    def title(self, about: str) -> str:
        return f"{self.replication.name}: {about}"

    @property
    def notes(self) -> list[str]:
        return []

    def report(self, name: str) -> Report:
        """Raises KeyError."""
        return self.registry.make(name, self)

    def document(self, ending: str) -> str:
        """The tables, deviations and versions as one text; the plan hangs on where it is made.

        Raises:
            ValueError: for CSV, of which a file holds one table only.
        """
        made = [self.report(name) for name in self.registry.entries if name != PLAN]
        return write_document(self.replication.name, made, ending)


def _named(table: Table) -> str:
    return f"{table.place}: {table.title}"


def _table(facts: ReplicationFacts, *, table: Table) -> Report:
    """One row a figure that the paper prints: published, ours, the difference and why it may be."""
    figures = list(figures_of(table, facts))
    columns = [
        text("row", _("row")),
        in_files("figure"),
        in_files("unit"),
        amounts("published", _("in the paper"), show=show_published),
        amounts("ours", _("here")),
        in_files("missing_because"),
        amounts("difference", _("difference"), show=show_difference),
        text("deviations", _("deviations"), show=lambda marks: Shown(marks.replace(" ", "\u00a0"))),
        in_files("report"),
        in_files("of"),
    ]
    return Report(
        columns=columns, rows=[_row(each, facts) for each in figures], notes=_notes(table, figures)
    )


def _row(figure: Figure, facts: ReplicationFacts) -> list[Any]:
    unit = figure.column.unit
    place = figure.place
    touched = {place.arm, place.versus, place.judging} - {""}
    found = facts.deviations
    marks = [each.mark for each in found if not each.about or touched & set(each.about)]
    name = figure.column.name or figure.column.key
    listed = f"{facts.replication.get_absolute_url()}#part-{DEVIATIONS}"
    return [
        Cell(figure.row.name, note=name),
        name,
        unit.value,
        (figure.published, unit),
        Cell((figure.ours, unit), figure.url),
        figure.ours.why or None,
        (figure.difference, unit),
        Cell(", ".join(_ranges(marks)), listed if marks else ""),
        place.report,
        " / ".join(each for each in (place.arm, place.versus, place.judging) if each),
    ]


def _ranges(marks: Sequence[str]) -> Iterator[str]:
    """Three and more marks in a row as the first and the last of them."""
    numbers = [int(mark.removeprefix(MARK)) for mark in marks]
    for _distance, run in groupby(enumerate(numbers), lambda each: each[1] - each[0]):
        found = [f"{MARK}{number}" for _place, number in run]
        yield from (f"{found[0]}–{found[-1]}",) if len(found) > 2 else found


def _notes(table: Table, figures: Sequence[Figure]) -> list[str]:
    notes = [
        gettext(
            "In the paper: %(place)s, typed in. Here: computed from stored runs, labels and "
            "verdicts."
        )
        % {"place": table.place}
    ]
    if any(each.difference.interval for each in figures):
        notes.append(
            gettext(
                "Difference: here less in the paper, with the interval of two independent "
                "estimates (95 %, Zou and Donner); a figure published without its spread counts as "
                "exact."
            )
        )
    return notes


PROGRAMS = ("Django", "browsergym-core", "browsergym-miniwob", "miniwob", "playwright", "bm25s")


def programs_of(replication: Replication) -> dict[str, str]:
    """The versions of this program and of what its runs depend on, where it was made."""
    return replication.made_elsewhere.get("programs") or _programs()


def _programs() -> dict[str, str]:
    found = {PRODUCER.name: PRODUCER.version, "Python": platform.python_version()}
    for name in PROGRAMS:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def _versions(sources: Sources) -> Report:
    """One row a thing: what it is, of which part, and its version, seed or hash."""
    rows = [*_file(sources), *_arms(sources)]
    for experiment in sources.experiments:
        rows += _experiment(experiment, sources)
    for key, study in sources.studies.items():
        if study.pk not in sources.hidden_studies:
            rows += _study(key, study, sources)
    return Report(
        columns=[text("of", _("part")), text("what", _("what")), text("value", _("value"))],
        rows=rows,
    )


def _file(sources: Sources) -> Iterator[list[Value]]:
    row = sources.replication
    yield [row.file_name, gettext("SHA-256 of the file"), row.sha256]
    yield [row.file_name, gettext("SHA-256 of what is run and judged"), sources.file.work_hash]
    for name, number in programs_of(row).items():
        yield [gettext("programs"), name, str(number)]


def _arms(sources: Sources) -> Iterator[list[Value]]:
    for key, runs in sources.arms.items():
        if isinstance(runs, ArmRuns):
            of = gettext("arm %(arm)s") % {"arm": key}
            agent = runs.agent
            yield [of, gettext("agent"), str(agent)]
            yield [of, gettext("model"), agent.model or gettext("none")]
            # The same wherever the same agent acted, whatever else is known of its models there.
            said = {"name": agent.name, "version": agent.version, "config": agent.config}
            yield [of, gettext("SHA-256 of the configuration"), json_digest(said)]


def _experiment(experiment: Experiment, sources: Sources) -> Iterator[list[Value]]:
    of = gettext("experiment %(name)s") % {"name": experiment.name}
    runs = sources.scope(experiment).visible.order_by()
    if seeds := experiment.plan.get("seeds"):
        yield [of, gettext("seeds as planned"), str(seeds)]
    drawn = sorted({seed for seed in runs.values_list("seed", flat=True) if seed is not None})
    yield [of, gettext("seeds of its runs"), _shortened([str(seed) for seed in drawn])]
    sets = TaskSet.objects.filter(tasks__runs__in=runs.values("pk")).distinct()
    for row in sets.order_by("name", "version"):
        yield [of, gettext("task set"), str(row)]
    policies = RetryPolicy.objects.filter(runs__in=runs.values("pk")).distinct()
    for policy in policies.order_by("name", "version"):
        yield [of, gettext("retry policy"), f"{policy}, SHA-256 {policy.body_hash}"]
    yield [of, gettext("SHA-256 of the contents of its runs"), _digest(runs)]


MOST_SEEDS = 20


def _shortened(words: list[str]) -> str:
    more = len(words) - MOST_SEEDS
    return ", ".join(words[:MOST_SEEDS]) + (f" … +{more}" if more > 0 else "")


def _digest(runs: Any) -> str:
    """One hash over those of all runs, in an order that follows from them."""
    hashes = sorted(each for each in runs.values_list("content_hash", flat=True) if each)
    return hashlib.sha256("\n".join(hashes).encode()).hexdigest()


def _study(key: str, study: Study, sources: Sources) -> Iterator[list[Value]]:
    of = gettext("judging %(name)s") % {"name": key}
    yield [of, gettext("seed of the sample"), str(study.sample_seed)]
    yield [of, gettext("labels per run"), str(study.labels_per_run)]
    guideline = study.newest_guideline
    if guideline is not None:
        text_hash = hashlib.sha256(guideline.text.encode()).hexdigest()
        yield [of, gettext("guidelines"), f"{guideline}, SHA-256 {text_hash}"]
    for row in sources.evaluators(key):
        yield [of, gettext("evaluator"), f"{row}, SHA-256 {row.config_hash}"]


def _deviations(facts: ReplicationFacts) -> Report:
    """One row a thing that differs from the paper."""
    return Report(
        columns=[
            text("mark", _("mark")),
            text("what", _("what")),
            text("paper", _("in the paper")),
            text("ours", _("here")),
            text("about", _("about")),
            text("found_by", _("found"), show=lambda key: Shown(str(FOUND_BY[key]))),
        ],
        rows=[
            [each.mark, each.what, each.paper, each.ours, ", ".join(each.about), each.found_by]
            for each in facts.deviations
        ],
        empty="" if facts.deviations else gettext("No deviation is known."),
    )
