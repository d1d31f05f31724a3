"""What a what-if page has switched: read from an address, written into one, made an evaluator, and
shown as boxes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple
from urllib.parse import urlencode

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from judging.evaluators.answer_judges import TwoStageEvaluator
from judging.evaluators.contract import Evaluator
from judging.evaluators.judges.outcome import StageName
from judging.evaluators.matchers import TaskVersion
from judging.evaluators.matching.pipeline import NAMES
from judging.evaluators.matching.repaired.matcher import RepairedMatcher
from judging.evaluators.matching.repaired.rules import (
    ALL_RULES,
    DESCRIPTIONS,
    LABELS,
    REJECTING,
    Rule,
)
from judging.evaluators.matching.strict import StrictMatcher
from judging.evaluators.pipelines import PIPELINES
from judging.evaluators.registry import REGISTRY, Unasked, UnknownEvaluatorError, evaluator_of
from judging.models import EvaluatorVersion, Study
from runs.interface.sentences import labelled, listed
from runs.models import TaskSet
from runs.models.parsing import read_choice, reading
from webagent.trajectory.values import items, mapping

_STAGE_WORDS: Mapping[StageName, Promise] = {
    StageName.EQUIVALENCE: gettext_lazy("Stage 1: the answer means the same as the reference"),
    StageName.INCLUSION: gettext_lazy("Stage 2: the answer holds the reference's key information"),
}
STAGES = tuple(_STAGE_WORDS)
_TASK_WORDS: Mapping[TaskVersion, Promise] = {
    TaskVersion.RECORDED: gettext_lazy("as recorded"),
    TaskVersion.PATCHED: gettext_lazy("as patched"),
}
AS_STORED = "stored"
"""Says in an address that nothing is switched otherwise."""
SWITCHED = ("off", "stages", "tasks", AS_STORED)
"""What an address names where it says how the switches stand."""
Config = Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One evaluator version with other switches. What it does not have is None."""

    version: EvaluatorVersion
    rules: frozenset[Rule] | None = None
    stages: tuple[StageName, ...] | None = None
    tasks: TaskVersion | None = None

    @property
    def address(self) -> str:
        """The query that leads here; switches that stand as in the version are left out, and
        `stored` says so where all of them do.
        """
        own = setting_of(self.version)
        query = {"evaluator": str(self.version.pk)}
        if self.rules is not None and self.rules != own.rules:
            query["off"] = ".".join(sorted(ALL_RULES - self.rules)) or "none"
        if self.stages is not None and self.stages != own.stages:
            query["stages"] = ".".join(self.stages) or "none"
        if self.tasks is not None and self.tasks != own.tasks:
            query["tasks"] = self.tasks.value
        return urlencode(query if len(query) > 1 else query | {AS_STORED: "1"})

    @property
    def is_changed(self) -> bool:
        return self != setting_of(self.version)

    def toggled(self, rule: Rule) -> Setting:
        return replace(self, rules=(self.rules or frozenset()) ^ {rule})

    def evaluator(self) -> Evaluator:
        """The evaluator so configured; it asks no model as it stands here.

        Raises UnknownEvaluatorError where the program has moved on from the version.
        """
        if not self.is_changed:
            return evaluator_of(self.version)
        name, config = self._named()
        given = {"language_model": Unasked()} if REGISTRY[name].asks_model else {}
        try:
            return REGISTRY[name].make(**given, **config)
        except (TypeError, ValueError, KeyError) as error:
            raise UnknownEvaluatorError(str(error)) from error

    def _named(self) -> tuple[str, dict[str, object]]:
        """Name and configuration: of a pipeline without any stage, those of its matcher."""
        config = dict(self.version.config)
        if self.version.name in PIPELINES:
            matcher, judge = mapping(config["matcher"]), dict(mapping(config["judge"]))
            name, own = self._matcher(str(matcher["name"]), mapping(matcher.get("config")))
            if self.stages == ():
                return name, self._on_tasks(own)
            if self.stages is not None:
                judge["config"] = {**mapping(judge.get("config")), "stages": list(self.stages)}
            config |= {"matcher": {"name": name, "config": own}, "judge": judge}
            return self.version.name, {**config, "tasks": str(self.tasks)}
        if self.stages is not None:
            return self.version.name, {**config, "stages": list(self.stages)}
        config.pop("tasks", None)
        name, own = self._matcher(self.version.name, config)
        return name, self._on_tasks(own)

    def _matcher(self, name: str, config: Config) -> tuple[str, dict[str, object]]:
        """The repaired matcher with these rules; the strict one as long as no rule is on."""
        if self.rules is None or (name == StrictMatcher.name and not self.rules):
            return name, dict(config)
        kept = {key: value for key, value in config.items() if key == "missing_answer"}
        return RepairedMatcher.name, {**kept, "off": sorted(ALL_RULES - self.rules)}

    def _on_tasks(self, config: dict[str, object]) -> dict[str, object]:
        if self.tasks is TaskVersion.PATCHED:
            return {**config, "tasks": self.tasks.value}
        return config


def setting_of(version: EvaluatorVersion) -> Setting:
    """The switches as they stand in the version."""
    config = version.config
    if version.name in PIPELINES:
        matcher, judge = mapping(config.get("matcher")), mapping(config.get("judge"))
        return Setting(
            version=version,
            rules=_rules(str(matcher.get("name")), mapping(matcher.get("config"))),
            stages=_stages(str(judge.get("name")), mapping(judge.get("config"))),
            tasks=_tasks(config),
        )
    if version.name in NAMES:
        return Setting(version=version, rules=_rules(version.name, config), tasks=_tasks(config))
    return Setting(version=version, stages=_stages(version.name, config))


def has_switches(version: EvaluatorVersion) -> bool:
    """Whether there is anything to switch, and the program can still make the evaluator."""
    setting = setting_of(version)
    if setting.rules is None and setting.stages is None:
        return False
    try:
        evaluator_of(version)
    except UnknownEvaluatorError:
        return False
    return True


def read_setting(version: EvaluatorVersion, query: Mapping[str, str]) -> Setting:
    """The setting of an address; what it does not say stays as in the version.

    Raises QueryError where it names a rule, a stage or a task version that is none.
    """
    off, stages = _named_in(query, "off", Rule), _named_in(query, "stages", StageName)
    tasks, setting = read_choice(query, "tasks", TaskVersion), setting_of(version)
    if setting.rules is not None and off is not None:
        setting = replace(setting, rules=ALL_RULES - set(off))
    if setting.stages is not None and stages is not None and set(stages) <= set(STAGES):
        setting = replace(setting, stages=tuple(each for each in STAGES if each in stages))
    return replace(setting, tasks=tasks) if setting.tasks is not None and tasks else setting


def switched(
    version: EvaluatorVersion, *, on: Iterable[str], stages: Iterable[str], tasks: str
) -> Setting:
    """The setting of a form that was sent: what is not ticked is off."""
    off, kept = ALL_RULES.difference(on), set(STAGES).intersection(stages)
    query = {"off": ".".join(off) or "none", "stages": ".".join(kept) or "none"}
    known = {"tasks": tasks} if tasks in list(TaskVersion) else {}
    return read_setting(version, query | known)


def _named_in(
    query: Mapping[str, str], key: str, kind: type[Rule] | type[StageName]
) -> list[Rule | StageName] | None:
    """Those that the address names, joined by dots; None where it says nothing of them."""
    text = query.get(key, "")
    if text in ("", "none"):
        return [] if text else None
    with reading(key):
        return [kind(name) for name in text.split(".")]


def _rules(name: str, config: Config) -> frozenset[Rule] | None:
    if name == StrictMatcher.name:
        return frozenset()
    if name != RepairedMatcher.name:
        return None
    return ALL_RULES - set(items(config.get("off")))


def _stages(name: str, config: Config) -> tuple[StageName, ...] | None:
    if name != TwoStageEvaluator.name:
        return None
    stored = config.get("stages")
    chosen = stored if isinstance(stored, list) else list(STAGES)
    return tuple(each for each in STAGES if each in chosen)


def _tasks(config: Config) -> TaskVersion:
    stored = config.get("tasks")
    return TaskVersion(str(stored)) if stored in list(TaskVersion) else TaskVersion.RECORDED


def judged_tasks(version: EvaluatorVersion) -> str:
    """Which version of the tasks it reads, in words; empty where that is not known."""
    setting = setting_of(version)
    tasks = setting.tasks or (TaskVersion.RECORDED if setting.stages is not None else None)
    return str(_TASK_WORDS[tasks]) if tasks else ""


class Switch(NamedTuple):
    """One rule, stage or version of the tasks with its box."""

    key: str
    name: str | Promise
    description: str
    is_on: bool


def switches(study: Study, setting: Setting) -> dict[str, Any]:
    """The boxes of the form; no group where the evaluator has nothing of the kind."""
    return {
        "groups": [] if setting.rules is None else _rule_groups(setting.rules),
        "stages": [
            Switch(each.value, each.value, str(_STAGE_WORDS[each]), each in (setting.stages or ()))
            for each in (() if setting.stages is None else STAGES)
        ],
        "tasks": [
            Switch(each.value, name, "", setting.tasks is each)
            for each, name in (_TASK_WORDS.items() if has_task_choice(study, setting) else ())
        ],
        "all_on": replace(setting, rules=ALL_RULES).address,
        "all_off": replace(setting, rules=frozenset()).address,
        "as_stored": setting_of(setting.version).address,
    }


def has_task_choice(study: Study, setting: Setting) -> bool:
    """Whether it could read the study's tasks as they were recorded or as they were patched."""
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
        return listed(_STAGE_WORDS[each] for each in setting.stages or ()) or _("no stage")
    if setting.tasks is None or setting.tasks == stored.tasks:
        return ""
    return str(_TASK_WORDS[setting.tasks])


def _rule_groups(enabled: frozenset[Rule]) -> list[tuple[str, list[Switch]]]:
    def boxes(rules: Iterable[Rule]) -> list[Switch]:
        return [
            Switch(rule.value, _(LABELS[rule]), _(DESCRIPTIONS[rule]), rule in enabled)
            for rule in rules
        ]

    urls = [rule for rule in Rule if rule.startswith("url_")]
    accepting = [rule for rule in Rule if rule not in urls and rule not in REJECTING]
    rejecting = [rule for rule in Rule if rule not in urls and rule in REJECTING]
    return [
        (_("Accept more answers"), boxes(accepting)),
        (_("Reject what only looks right"), boxes(rejecting)),
        (_("URLs"), boxes(urls)),
    ]
