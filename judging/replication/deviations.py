"""What differs from the paper: found in the file and in the rows, or stated in the file."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.db.models import Count
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from judging.analysis.experiments.population import LEFT_OUT, RunResult, Source
from judging.evaluators.registry import REGISTRY
from judging.models import Evaluation, EvaluatorVersion, Label, ReferenceVerdict, Study, StudyItem
from judging.replication.sources import ArmRuns, Sources
from judging.replication.study_file import StudyFile
from judging.replication.study_parts import Arm, Judging
from runs.models import HintSet, TaskSet
from runs.models.experiments import HINTS_KEY, KNOWLEDGE_KEY
from runs.models.learning import HintLevel, HintRelatedness
from runs.models.policies import body_of
from webagent.llm.registry import is_stub
from webagent.recovery.retry_policy import PolicyBody, RecoveryPolicy
from webagent.trajectory.values import items, mapping

PRODUCT, FILE = "product", "file"
MARK = "D"
"""What the marks of deviations begin with, before their number."""
FOUND_BY: Mapping[str, Promise] = {
    PRODUCT: gettext_lazy("by the program"),
    FILE: gettext_lazy("in the file"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Deviation:
    """One thing that differs; `paper` and `ours` in words where there is something to set against.

    `about` names the arms and judgings that it touches; none are all.
    """

    what: str
    paper: str = ""
    ours: str = ""
    about: tuple[str, ...] = ()
    found_by: str = PRODUCT
    mark: str = ""
    """What tables name it by."""


def deviations_of(sources: Sources) -> list[Deviation]:
    """All of them: arms first, then what is judged, then what the file states."""
    found = [*_of_arms(sources), *_of_judgings(sources)]
    for stated in sources.file.deviations:
        found.append(Deviation(what=stated.text, about=stated.about, found_by=FILE))
    return [
        replace(each, mark=f"{MARK}{number}") for number, each in enumerate(_joined(found), start=1)
    ]


def _joined(found: Sequence[Deviation]) -> list[Deviation]:
    """Those that say the same of several parts as one."""
    parts: dict[Deviation, list[str]] = {}
    for each in found:
        parts.setdefault(replace(each, about=()), []).extend(each.about)
    return [replace(each, about=tuple(dict.fromkeys(about))) for each, about in parts.items()]


def _of_arms(sources: Sources) -> Iterator[Deviation]:
    for key, arm in sources.file.arms.items():
        runs = sources.arms[key]
        found = [*_agent(arm, runs), *_detector(arm, runs, sources)]
        if isinstance(runs, ArmRuns):
            found += [*_rows(arm, runs, sources), *_hints(arm, runs, sources)]
        found += [*_chosen_tasks(arm, sources.file)]
        yield from (replace(each, about=(key,)) for each in found)


def _differs(what: str, paper: object, ours: object) -> Iterator[Deviation]:
    """Where the paper says something and it is something else here."""
    if paper not in (None, "", ()) and _plain(paper) != _plain(ours):
        words = str(ours) if ours not in (None, "") else _("none")
        yield Deviation(what=what, paper=str(paper), ours=words)


def _plain(value: object) -> str:
    return " ".join(str(value).split()).casefold()


def _agent(arm: Arm, runs: ArmRuns | str) -> Iterator[Deviation]:
    """Agent, model, and the wording of prompts."""
    config: Mapping[str, Any] = arm.config
    name, model = arm.agent, arm.model or str(arm.config.get("model") or "")
    if isinstance(runs, ArmRuns):
        config, name, model = runs.agent.config, runs.agent.name, runs.agent.model
    yield from _differs(_("agent"), arm.paper.agent, name)
    yield from _differs(_("model"), arm.paper.model, model)
    yield from _stub(model)
    if model:
        version = str(config.get("prompts") or "1")
        ours = _own_prompts(name, version)
        if _plain(arm.paper.prompts) != _plain(f"{name} {version}"):
            paper = arm.paper.prompts or _("the paper's own")
            yield Deviation(what=_("wording of prompts"), paper=paper, ours=ours)


def _own_prompts(name: str, version: str) -> str:
    words = _("prompts of this program: %(agent)s, version %(version)s")
    return words % {"agent": name, "version": version}


def _stub(model: str) -> Iterator[Deviation]:
    if model and is_stub(model):
        yield Deviation(what=_("a stub of fixed rules answers, no model"), ours=model)


def _detector(arm: Arm, runs: ArmRuns | str, sources: Sources) -> Iterator[Deviation]:
    """The rule by which an agent counts as stuck, field by field."""
    if not arm.paper.detector:
        return
    body = _policy(arm, runs, sources)
    if body is None or body.recovery is None:
        yield Deviation(what=_("detector"), paper=_("one"), ours=_("none"))
        return
    paper = RecoveryPolicy.model_validate(dict(arm.paper.detector)).model_dump(mode="json")
    ours = body.recovery.model_dump(mode="json")
    for field in arm.paper.detector:
        what = _("detector: %(field)s") % {"field": field}
        yield from _differs(what, paper[field], ours[field])


def _policy(arm: Arm, runs: ArmRuns | str, sources: Sources) -> PolicyBody | None:
    """The policy that the arm's runs had, or will have."""
    if isinstance(runs, ArmRuns):
        rows = _visible(runs, sources).exclude(policy=None).select_related("policy")
        run = rows.order_by("created_at", "pk").only("policy").first()
        if run is not None and run.policy is not None:
            return body_of(run.policy)
    return arm.policy if isinstance(arm.policy, PolicyBody) else None


def _visible(runs: ArmRuns, sources: Sources) -> Any:
    return sources.scope(runs.experiment).visible.filter(agent=runs.agent).order_by()


def _rows(arm: Arm, runs: ArmRuns, sources: Sources) -> Iterator[Deviation]:
    """What the arm's runs show: limits, trials, tasks, what was told, and what counts nowhere."""
    rows = list(_visible(runs, sources).values_list("task", "trial", "max_steps").distinct())
    if not rows:
        return
    limits = sorted({limit for _task, _trial, limit in rows if limit is not None})
    yield from _differs(_("most steps of a run"), arm.paper.max_steps, _listed(limits))
    trials = max(trial for _task, trial, _limit in rows)
    yield from _differs(_("trials of a task"), arm.paper.trials, trials)
    yield from _tasks_run(arm, {task for task, *_rest in rows}, runs, sources)
    yield from _knowledge(arm, runs, sources)
    yield from _left_out(runs, sources)


def _listed(values: Sequence[object]) -> str:
    return ", ".join(map(str, values))


def _tasks_run(arm: Arm, tasks: set[int], runs: ArmRuns, sources: Sources) -> Iterator[Deviation]:
    """Set, number and those that are planned and have no run that counts."""
    paper = sources.file.tasks_of(arm).paper if sources.file.tasks else None
    counted = sources.scope(runs.experiment).counted(Source()).filter(agent=runs.agent)
    with_run = set(counted.values_list("task", flat=True))
    if paper is not None:
        sets = TaskSet.objects.filter(tasks__in=tasks).distinct().order_by("name", "version")
        yield from _differs(_("task set"), paper.set, _listed([str(each) for each in sets]))
        yield from _differs(_("number of tasks"), paper.count, len(with_run))
    if missing := len(tasks - with_run):
        yield Deviation(what=_("tasks without a run that counts"), ours=str(missing))


def _chosen_tasks(arm: Arm, file: StudyFile) -> Iterator[Deviation]:
    if arm.experiment or not file.tasks:
        return
    chosen = file.tasks_of(arm)
    ours = chosen.split or _("all splits")
    yield from _differs(_("split of the tasks"), chosen.paper.split, ours)


def _knowledge(arm: Arm, runs: ArmRuns, sources: Sources) -> Iterator[Deviation]:
    """How much of its web knowledge the agent was told."""
    n = len(items(mapping(runs.agent.config.get(KNOWLEDGE_KEY)).get("entries")))
    yield from _differs(_("entries of web knowledge"), arm.paper.knowledge_entries, n)
    if not n:
        return
    path = "record__extra__knowledge"
    told = _visible(runs, sources).values_list(f"{path}__given", f"{path}__budget_tokens")
    amounts = {(given, budget) for given, budget in told.distinct() if isinstance(given, int)}
    if amounts and min(given for given, _budget in amounts) < n:
        given = _listed(sorted({given for given, _budget in amounts}))
        budget = _listed(sorted({budget for _given, budget in amounts}, key=str))
        words = _("%(given)s of %(n)s entries, within %(budget)s tokens")
        yield Deviation(
            what=_("web knowledge cut to a budget"),
            paper=_("all entries") if arm.paper.knowledge_entries else "",
            ours=words % {"given": given, "n": n, "budget": budget},
        )


def _hints(arm: Arm, runs: ArmRuns, sources: Sources) -> Iterator[Deviation]:
    """Levels and relatednesses of hints that the paper compares and no run had here."""
    key = f"agent__config__{HINTS_KEY}"
    names = sources.scope(runs.experiment).visible.order_by().values_list(key, flat=True).distinct()
    sets = HintSet.objects.filter(key__in=[name for name in names if name])
    ours = {each for row in sets for each in (row.level, row.relatedness)}
    paper = (*arm.paper.levels, *arm.paper.relatednesses)
    words = dict((*HintLevel.choices, *HintRelatedness.choices))
    if lacking := [str(words[each]) for each in paper if each not in ours]:
        n = str(len(arm.paper.levels) * len(arm.paper.relatednesses))
        told = _("%(n)s, without: %(lacking)s") % {"n": len(sets), "lacking": _listed(lacking)}
        yield Deviation(what=_("conditions of hints"), paper=n, ours=told)


def _left_out(runs: ArmRuns, sources: Sources) -> Iterator[Deviation]:
    """Runs that no figure counts, by why; earlier attempts and what is hidden apart."""
    standing = sources.scope(runs.experiment).standing(Source()).filter(agent=runs.agent)
    found = dict(standing.values_list("standing").annotate(n=Count("pk")))
    apart = (RunResult.SUPERSEDED, RunResult.HIDDEN)
    for why, words in LEFT_OUT.items():
        if why not in apart and (n := found.get(why.value)):
            yield Deviation(what=_("left out: %(why)s") % {"why": words}, ours=str(n))


def _of_judgings(sources: Sources) -> Iterator[Deviation]:
    for key, judging in sources.file.judging.items():
        study = sources.studies.get(key)
        if study is not None and study.pk not in sources.hidden_studies:
            versions = sources.evaluators(key)
            found = [*_people(judging, study), *_evaluators(judging, study, versions)]
            yield from (replace(each, about=(key,)) for each in found)


def _people(judging: Judging, study: Study) -> Iterator[Deviation]:
    """Annotators, runs, and those without a reference verdict."""
    labels = Label.objects.filter(item__study=study, is_repeat=False).order_by()
    annotators = labels.aggregate(n=Count("annotator", distinct=True))["n"]
    n = StudyItem.objects.filter(study=study).count()
    yield from _differs(_("annotators"), judging.paper.annotators, annotators)
    yield from _differs(_("runs that were judged"), judging.paper.runs, n)
    settled = ReferenceVerdict.objects.filter(item__study=study).count()
    if settled < n:
        yield Deviation(what=_("runs without a reference verdict"), ours=str(n - settled))


def _evaluators(
    judging: Judging, study: Study, versions: Sequence[EvaluatorVersion]
) -> Iterator[Deviation]:
    """Which judged, by what model, by whose prompts, and on how many runs they say nothing."""
    runs = StudyItem.objects.filter(study=study).order_by().values("run")
    verdicts = (Evaluation.Verdict.PASSED, Evaluation.Verdict.FAILED)
    said = Evaluation.objects.filter(run__in=runs, is_current=True, verdict__in=verdicts).order_by()
    counts = dict(said.values_list("evaluator").annotate(n=Count("pk")))
    names = _listed([str(each) for each in versions])
    yield from _differs(_("evaluators"), _listed(judging.paper.evaluators), names)
    total = StudyItem.objects.filter(study=study).count()
    for each in versions:
        yield from _judge(judging, each)
        if missing := total - counts.get(each.pk, 0):
            words = _("runs without a verdict of %(evaluator)s") % {"evaluator": each}
            yield Deviation(what=words, ours=str(missing))


def _judge(judging: Judging, version: EvaluatorVersion) -> Iterator[Deviation]:
    model = version.config.get("model")
    if not isinstance(model, str) or not model:
        return
    yield from _differs(_("model of the judge"), judging.paper.judge_model, model)
    yield from _stub(model)
    if version.name not in REGISTRY:  # it came in with its verdicts, and its prompts are its own
        return
    ours = _own_prompts(version.name, version.version)
    yield Deviation(what=_("wording of prompts"), paper=_("the paper's own"), ours=ours)
