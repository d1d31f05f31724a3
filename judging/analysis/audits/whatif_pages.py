"""What a what-if page shows, made ready for its templates."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from urllib.parse import urlencode

from django.db.models import Exists, OuterRef, QuerySet
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from judging.analysis.audits.population import counted_items
from judging.analysis.audits.whatif import Change, Compared, Flip, compare
from judging.analysis.audits.whatif_settings import STAGES, Setting, has_switches, read_setting
from judging.evaluators.judges.outcome import StageName
from judging.evaluators.matchers import TaskVersion
from judging.evaluators.matching.repaired.rules import ALL_RULES, DESCRIPTIONS, REJECTING, Rule
from judging.evaluators.registry import model_asked_by
from judging.models import Evaluation, EvaluatorVersion, Study, StudyItem
from judging.statistics.figures import Share
from runs.models import TaskSet

CHANGES: Mapping[Change, tuple[Promise, str]] = {
    Change.FIXED_FN: (_("FN that would pass"), "right"),
    Change.FIXED_FP: (_("FP that would not pass"), "right"),
    Change.LOST_TP: (_("TP that would be lost"), "wrong"),
    Change.NEW_FP: (_("new FP"), "wrong"),
    Change.GAINED: (_("a verdict where there is none"), "open"),
    Change.LOST: (_("no verdict any more"), "open"),
}
"""Names, and whether that is what one wants, in the order in which they are shown."""
MOST_SHOWN = 100
"""Runs that are listed of those that would move in one way."""
_STAGES: Mapping[StageName, Promise] = {
    StageName.EQUIVALENCE: _("Stage 1: the answer means the same as the reference"),
    StageName.INCLUSION: _("Stage 2: the answer holds the reference's key information"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Switch:
    """One rule or stage with its box."""

    key: str
    name: str | Promise
    description: str
    is_on: bool
    differs: bool
    """Whether it stands otherwise than in the version."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """Runs that would move in one way."""

    name: Promise
    kind: str
    total: int
    flips: Sequence[tuple[Flip, str]]
    """The first of them, each with the address of its run."""

    @property
    def left(self) -> int:
        """How many more there are."""
        return self.total - len(self.flips)


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatIf:
    """The form of one evaluator."""

    study: Study
    setting: Setting
    versions: Sequence[EvaluatorVersion]
    has_patched_tasks: bool

    @property
    def groups(self) -> list[tuple[Promise, list[Switch]]]:
        """The rules by what they do; empty where the evaluator has none."""
        if self.setting.rules is None:
            return []
        urls = [rule for rule in Rule if rule.startswith("url_")]
        answers = [rule for rule in Rule if rule not in urls]
        return [
            (
                _("Accept more answers"),
                self._switches(rule for rule in answers if rule not in REJECTING),
            ),
            (
                _("Reject what only looks right"),
                self._switches(rule for rule in answers if rule in REJECTING),
            ),
            (_("URLs"), self._switches(urls)),
        ]

    def _switches(self, rules: Iterable[Rule]) -> list[Switch]:
        own = read_setting(self.setting.version, {}).rules or frozenset()
        enabled = self.setting.rules or frozenset()
        return [
            Switch(
                key=rule.value,
                name=rule.value.removeprefix("url_").replace("_", " "),
                description=gettext(DESCRIPTIONS[rule]),
                is_on=rule in enabled,
                differs=(rule in enabled) != (rule in own),
            )
            for rule in rules
        ]

    @property
    def stages(self) -> list[Switch]:
        """The judge's stages; empty where it has none."""
        if self.setting.stages is None:
            return []
        own = read_setting(self.setting.version, {}).stages or ()
        return [
            Switch(
                key=stage.value,
                name=stage.value,
                description=str(_STAGES[stage]),
                is_on=stage in self.setting.stages,
                differs=(stage in self.setting.stages) != (stage in own),
            )
            for stage in STAGES
        ]

    @property
    def tasks(self) -> list[Switch]:
        """Which version of the tasks is read; empty where there is no choice."""
        own = self.setting.tasks
        if own is None or not (self.has_patched_tasks or own is TaskVersion.PATCHED):
            return []
        names = {TaskVersion.RECORDED: _("as recorded"), TaskVersion.PATCHED: _("as patched")}
        return [
            Switch(key=each.value, name=name, description="", is_on=own is each, differs=False)
            for each, name in names.items()
        ]

    @property
    def all_on(self) -> str:
        """The query with every rule on."""
        return replace(self.setting, rules=ALL_RULES).address

    @property
    def all_off(self) -> str:
        """The query with every rule off."""
        return replace(self.setting, rules=frozenset()).address

    @property
    def as_stored(self) -> str:
        """The query of the version as it is."""
        return urlencode({"evaluator": self.setting.version.pk})


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What would be, beside what is."""

    study: Study
    setting: Setting
    compared: Compared

    @property
    def moved(self) -> list[Moved]:
        """The runs that would move, by how."""
        return [
            Moved(
                name=name,
                kind=kind,
                total=len(flips),
                flips=[(flip, self._url(flip)) for flip in flips[:MOST_SHOWN]],
            )
            for change, (name, kind) in CHANGES.items()
            if (flips := self.compared.flips.get(change))
        ]

    @property
    def items(self) -> QuerySet[StudyItem]:
        """The runs that are shown, so that it can be recorded who saw what was said of them."""
        shown = [flip.run_id for moved in self.moved for flip, _url in moved.flips]
        return self.study.items.filter(run__in=shown)

    def _url(self, flip: Flip) -> str:
        walk = {"study": self.study.pk, "audit": self.setting.version.pk, "cell": flip.now.value}
        return f"{reverse('runs:run_detail', args=[flip.run_id])}?{urlencode(walk)}"

    @property
    def cells(self) -> list[tuple[str, int, int]]:
        """The five cells, now and then."""
        now, then = self.compared.now, self.compared.then
        return [
            *((key, getattr(now, key), getattr(then, key)) for key in ("tp", "fn", "tn", "fp")),
            ("none", now.no_verdict, then.no_verdict),
        ]

    @property
    def rates(self) -> list[tuple[Promise, Share]]:
        """Success rates, named."""
        now, then, reference = self.compared.rates
        return [
            (_("by the evaluator now"), now),
            (_("by the evaluator then"), then),
            (_("by the reference"), reference),
        ]

    @property
    def stored_as(self) -> EvaluatorVersion | None:
        """The version that is so switched already, if there is one."""
        found = self.setting.evaluator().identity.config_hash
        return EvaluatorVersion.objects.filter(config_hash=found).first()

    @property
    def model(self) -> str:
        """The model that the new version would ask; empty where it asks none."""
        return model_asked_by(self.setting.evaluator())


def what_if(study: Study, query: Mapping[str, str]) -> WhatIf | None:
    """The form of the evaluator that the address names, or of the first; None without any."""
    versions = switchable(study)
    wanted = query.get("evaluator", "")
    version = next((each for each in versions if str(each.pk) == wanted), None)
    if version is None and versions:
        version = versions[0]
    if version is None:
        return None
    sets = TaskSet.objects.filter(parent__tasks__runs__study_items__study=study)
    return WhatIf(
        study=study,
        setting=read_setting(version, query),
        versions=versions,
        has_patched_tasks=sets.exists(),
    )


def switchable(study: Study) -> list[EvaluatorVersion]:
    """Evaluators with a verdict in the study that have switches; the repaired matcher first."""
    said = Evaluation.objects.filter(
        evaluator=OuterRef("pk"),
        is_current=True,
        run__in=counted_items(study).order_by().values("run"),
    )
    versions = [
        each for each in EvaluatorVersion.objects.filter(Exists(said)) if has_switches(each)
    ]
    return sorted(versions, key=lambda each: (each.name != "webarena-repaired", str(each)))


def result(study: Study, setting: Setting) -> Result:
    """The study under the setting.

    Raises:
        UnknownEvaluatorError: there is no such evaluator.
    """
    return Result(study=study, setting=setting, compared=compare(study, setting))
