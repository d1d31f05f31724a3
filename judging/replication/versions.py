"""What a replication rests on: the file, programs, seeds, and the hashes of all that counts."""

import hashlib
import platform
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from judging.analysis.reports.columns import text
from judging.analysis.reports.report import Report, Value
from judging.models import Study
from judging.replication.sources import ArmRuns, Sources
from runs.models import Experiment, RetryPolicy, TaskSet
from webagent.trajectory.canonical import json_digest
from webagent.trajectory.formats.native.writer import PRODUCER

PROGRAMS = ("Django", "browsergym-core", "browsergym-miniwob", "miniwob", "playwright", "bm25s")


def programs() -> dict[str, str]:
    """The versions of this program and of what its runs depend on, here."""
    found = {PRODUCER.name: PRODUCER.version, "Python": platform.python_version()}
    for name in PROGRAMS:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def versions(sources: Sources) -> Report:
    """One row a thing: what it is, of which part, and its version, seed or hash."""
    rows = [*_file(sources), *_arms(sources)]
    for experiment in sources.experiments:
        rows += _experiment(experiment, sources)
    for key, study in sources.studies.items():
        if study.pk not in sources.hidden_studies:
            rows += _study(key, study, sources)
    return Report(
        columns=[
            text("of", gettext_lazy("part")),
            text("what", gettext_lazy("what")),
            text("value", gettext_lazy("value")),
        ],
        rows=rows,
    )


def _file(sources: Sources) -> Iterator[list[Value]]:
    row = sources.replication
    yield [row.file_name, _("SHA-256 of the file"), row.sha256]
    yield [row.file_name, _("SHA-256 of what is run and judged"), sources.file.work_hash]
    made_by = row.made_elsewhere.get("programs") or programs()
    for name, number in made_by.items():
        yield [_("programs"), name, str(number)]


def _arms(sources: Sources) -> Iterator[list[Value]]:
    for key, runs in sources.arms.items():
        if isinstance(runs, ArmRuns):
            of = _("arm %(arm)s") % {"arm": key}
            agent = runs.agent
            yield [of, _("agent"), str(agent)]
            yield [of, _("model"), agent.model or _("none")]
            # The same wherever the same agent acted, whatever else is known of its models there.
            said = {"name": agent.name, "version": agent.version, "config": agent.config}
            yield [of, _("SHA-256 of the configuration"), json_digest(said)]


def _experiment(experiment: Experiment, sources: Sources) -> Iterator[list[Value]]:
    of = _("experiment %(name)s") % {"name": experiment.name}
    runs = sources.scope(experiment).visible.order_by()
    if seeds := experiment.plan.get("seeds"):
        yield [of, _("seeds as planned"), str(seeds)]
    drawn = sorted({seed for seed in runs.values_list("seed", flat=True) if seed is not None})
    yield [of, _("seeds of its runs"), _shortened([str(seed) for seed in drawn])]
    sets = TaskSet.objects.filter(tasks__runs__in=runs.values("pk")).distinct()
    for row in sets.order_by("name", "version"):
        yield [of, _("task set"), str(row)]
    policies = RetryPolicy.objects.filter(runs__in=runs.values("pk")).distinct()
    for policy in policies.order_by("name", "version"):
        yield [of, _("retry policy"), f"{policy}, SHA-256 {policy.body_hash}"]
    yield [of, _("SHA-256 of the contents of its runs"), _digest(runs)]


MOST_SEEDS = 20


def _shortened(words: list[str]) -> str:
    more = len(words) - MOST_SEEDS
    return ", ".join(words[:MOST_SEEDS]) + (f" … +{more}" if more > 0 else "")


def _digest(runs: Any) -> str:
    """One hash over those of all runs, in an order that follows from them."""
    hashes = sorted(each for each in runs.values_list("content_hash", flat=True) if each)
    return hashlib.sha256("\n".join(hashes).encode()).hexdigest()


def _study(key: str, study: Study, sources: Sources) -> Iterator[list[Value]]:
    of = _("judging %(name)s") % {"name": key}
    yield [of, _("seed of the sample"), str(study.sample_seed)]
    yield [of, _("labels per run"), str(study.labels_per_run)]
    guideline = study.newest_guideline
    if guideline is not None:
        text_hash = hashlib.sha256(guideline.text.encode()).hexdigest()
        yield [of, _("guidelines"), f"{guideline}, SHA-256 {text_hash}"]
    for row in sources.evaluators(key):
        yield [of, _("evaluator"), f"{row}, SHA-256 {row.config_hash}"]
