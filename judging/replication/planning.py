"""What a study file is to run: experiments, each of the arms that can share one."""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from judging.models import ReplicationPart
from judging.replication.study_file import StudyFile
from judging.replication.study_parts import Arm, HintChoice, KnowledgeChoice, TaskChoice, not_found
from runs.launching.experiments.hint_plans import HintPlan, HintPool, plan_hints
from runs.launching.experiments.plans import Plan, read_agent, read_seeds
from runs.launching.experiments.selection import PlanError, Selection, tasks_of
from runs.models import Hint, KnowledgeSet, LearningJob, RetryPolicy, Task, User
from runs.models.parsing import ids_of
from webagent.recovery.retry_policy import PolicyBody
from webagent.trajectory.texts import bounded_name

LONGEST_NAME = 200


class NotYetError(PlanError):
    """It waits for another part of the file; the words say for which."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Arms of one experiment: they share tasks, trials, policy and step limit. Arms with hints are
    alone, since each of them is an experiment with a baseline of its own.
    """

    file: StudyFile
    arms: Mapping[str, Arm]

    @property
    def key(self) -> str:
        return bounded_name(",".join(self.arms), LONGEST_NAME)

    @property
    def name(self) -> str:
        return bounded_name(f"{self.file.name}: {', '.join(self.arms)}", LONGEST_NAME)

    @property
    def first(self) -> Arm:
        return next(iter(self.arms.values()))


def groups_of(file: StudyFile) -> list[Group]:
    """The experiments that are to run, in the order of their first arms.

    An arm never shares an experiment with those that it waits for: an experiment starts when all of
    its arms can.
    """
    alike = {key: _shared(key, arm) for key, arm in file.arms.items() if not arm.experiment}
    together: dict[str, set[str]] = {}
    for key, shared in alike.items():
        together.setdefault(shared, set()).add(key)
    found: dict[tuple[str, str], dict[str, Arm]] = {}
    for key, shared in alike.items():
        arm = file.arms[key]
        waits = not together[shared].isdisjoint(_awaited(file, key, together.values()))
        apart = arm.knowledge.set if arm.knowledge and waits else ""
        found.setdefault((shared, apart), {})[key] = arm
    return [Group(file=file, arms=arms) for arms in found.values()]


def _awaited(file: StudyFile, key: str, together: Collection[set[str]]) -> set[str]:
    """The arms that are run before the arm, with all that may share an experiment with them."""
    awaited: set[str] = set()
    new = file.awaited_by(file.arms[key])
    while new:
        alike = new.union(*(arms for arms in together if arms & new))
        awaited |= alike
        new = {arm for one in alike for arm in file.awaited_by(file.arms[one])} - awaited
    return awaited


def _shared(key: str, arm: Arm) -> str:
    """What arms of one experiment share, as text."""
    policy = arm.policy.to_json() if isinstance(arm.policy, PolicyBody) else arm.policy
    shared = key if arm.hints else [arm.tasks, policy, arm.max_steps, arm.trials]
    return json.dumps(shared, sort_keys=True)


class Planner:
    """Plans of groups, with what learning jobs of the file made so far."""

    def __init__(self, file: StudyFile, jobs: Mapping[str, LearningJob], user: User | None) -> None:
        self._file, self._jobs, self._user = file, jobs, user

    def plan(self, group: Group, policy: RetryPolicy | None) -> Plan | HintPlan:
        """What the group's experiment is to run.

        Raises:
            NotYetError: it waits for something to be learned first.
            PlanError: it cannot be planned here; the message says why.
        """
        trials = group.first.trials or self._file.trials.count
        plan = Plan(
            name=group.name,
            tasks=chosen_tasks(self._file.tasks_of(group.first), self._user),
            agents=tuple(self._agent(arm) for arm in group.arms.values()),
            trials=trials,
            seeds=read_seeds(self._file.trials.seeds, trials),
            max_steps=group.first.max_steps,
            policy=policy,
        )
        hints = group.first.hints
        return plan if hints is None else self._hinted(plan, hints)

    def _agent(self, arm: Arm) -> Any:
        config = dict(arm.config)
        if arm.model:
            config["model"] = arm.model
        if arm.examples is not None:
            config["examples"] = arm.examples
        if arm.knowledge is not None:
            config["knowledge"] = self._knowledge(arm.knowledge)
            if arm.knowledge.tokens is not None:
                config["knowledge_tokens"] = arm.knowledge.tokens
        return read_agent(f"{arm.agent}:{json.dumps(config)}")

    def _knowledge(self, chosen: KnowledgeChoice) -> dict[str, Any]:
        words = chosen.set
        if chosen.set in self._file.learning:
            words = str(self._learned(chosen))
        told = {"set": words, "select": chosen.select}
        return told | ({"top": chosen.top} if chosen.select == "relevant" else {})

    def _learned(self, chosen: KnowledgeChoice) -> KnowledgeSet:
        """The set that a learning of the file made. Raises PlanError."""
        sets = knowledge_of(self._finished(chosen.set), chosen.kind)
        fitting = [row for row in sets if not chosen.site or row.site == chosen.site]
        if len(fitting) != 1:
            words = _("%(learning)s made %(n)s sets of that kind: %(names)s. Say which `site`.")
            names = ", ".join(map(str, sets)) or "–"
            raise PlanError(words % {"learning": chosen.set, "n": len(fitting), "names": names})
        return fitting[0]

    def _finished(self, learning: str) -> LearningJob:
        job = self._jobs.get(learning)
        if job is None or not is_learned(job):
            raise NotYetError(_("waits for what is learned: %(name)s") % {"name": learning})
        return job

    def _hinted(self, plan: Plan, chosen: HintChoice) -> HintPlan:
        source = chosen.source
        if source in self._file.learning:
            job = self._finished(source)
        else:
            found = LearningJob.objects.filter(pk__in=ids_of([source]), kind=LearningJob.Kind.HINTS)
            if (there := found.first()) is None:
                raise PlanError(not_found(_("hints"), source))
            job = there
        hints = Hint.objects.all() if self._user is None else Hint.objects.visible_to(self._user)
        pool = HintPool(job, list(hints.for_list().filter(job=job)), chosen.levels)
        return plan_hints(plan, pool, chosen.relatednesses)


def chosen_tasks(chosen: TaskChoice, user: User | None) -> tuple[Task, ...]:
    """The tasks of an arm. Raises PlanError for a set, split or task that there is not."""
    selection = Selection(
        task_set=chosen.set,
        sites=chosen.sites,
        kinds=chosen.kinds,
        picked=chosen.ids,
        feasible_only=not chosen.infeasible,
    )
    tasks = tasks_of(selection, user)
    if not chosen.split:
        return tasks
    stored = Task.objects.filter(pk__among=[task.pk for task in tasks if task.pk])
    of_split = set(stored.filter(split=chosen.split).values_list("pk", flat=True))
    found = tuple(task for task in tasks if task.pk in of_split)
    if not found:
        words = _("No task of %(set)s has the split %(split)s.")
        raise PlanError(words % {"set": chosen.set, "split": chosen.split})
    return found


def knowledge_of(job: LearningJob, kind: str) -> list[KnowledgeSet]:
    """The sets of a kind that an extraction led to."""
    raw = KnowledgeSet.objects.filter(job=job, kind=KnowledgeSet.Kind.RAW)
    rows = raw if kind == KnowledgeSet.Kind.RAW else KnowledgeSet.objects.filter(parent__in=raw)
    return list(rows.order_by("site", "version", "pk"))


def is_learned(job: LearningJob) -> bool:
    """Whether the job has ended well, and every set that it is to summarise is summarised."""
    if job.state != LearningJob.State.FINISHED:
        return False
    if not job.params.get("then_summarise"):
        return True
    raw = knowledge_of(job, KnowledgeSet.Kind.RAW)
    summarised = {row.parent_id for row in knowledge_of(job, KnowledgeSet.Kind.SUMMARISED)}
    return all(row.pk in summarised for row in raw if row.n_entries)


def jobs_of(parts: list[ReplicationPart]) -> dict[str, LearningJob]:
    return {part.key: part.job for part in parts if part.job}
