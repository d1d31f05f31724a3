"""A site that grows around what its pages are about.

The subject (one experiment, one study, the runs and disputes of `World`) keeps its size. Around it
come more runs, experiments, tasks, studies with labels, disputes and verdicts, hints, knowledge,
milestones, tags, failure reviews, imports, batches, downloads and entries of the audit log, all in
the same proportion at any size. People, agents, evaluators, task sets and sites stay as few as a
lab has, and so do the runs that wait and the viewers' own past.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import date, timedelta
from itertools import count
from random import Random
from typing import Any
from unittest import mock
from uuid import UUID

from django.db import connection, models
from django.utils import timezone

from judging.models import (
    CauseTag,
    Dispute,
    DisputeMessage,
    EvaluationBatch,
    EvaluationBatchItem,
    FailureCauseTag,
    FailureReview,
    FailureSample,
    Guideline,
    Label,
    LabelImport,
    LabelRevision,
    MilestoneTick,
    ReferenceVerdict,
    SampledFailure,
    StepComment,
    Study,
    StudyDownload,
    StudyItem,
    StudyMember,
    Unblinding,
)
from judging.studies.access import Role
from runs.models import (
    ApiAnswer,
    Attachment,
    AuditEntry,
    Blob,
    DeletedRun,
    Event,
    Experiment,
    Hint,
    HintChoice,
    HintSet,
    ImportJob,
    KnowledgeEntry,
    KnowledgeSet,
    KnowledgeSource,
    LearningJob,
    Milestone,
    RetryPolicy,
    Run,
    RunOfImport,
    RunSpace,
    SpaceMeasurement,
    Step,
    Task,
    TaskRevision,
    TaskSet,
    User,
)
from tests.judging.growth.multiplying import Multiplier
from tests.judging.studies.blind_world import World, make_world
from tools.seed_scale import shares
from tools.seed_scale.bulk import Bulk
from tools.seed_scale.drawing import RUN_COLUMNS, Drawn, draw_runs
from tools.seed_scale.judged import Judging
from tools.seed_scale.plan import STEP_COLUMNS, TaskGroup, make_plan, read_pool

RUNS_AT_ONCE = 15
"""The runs of one experiment, with everything that comes with them."""
TASKS_AT_ONCE = 5
PAUSED = 2
"""The experiment whose runs wait in part; it stays single."""
IN_OWN_STUDY = 4
"""Of these runs, in a small study of their own; one more goes into the large study."""
FEW_STEPS = shares.Share({1: 9, 5: 1})
OUTCOMES = shares.Share({"success": 3, "unknown": 2, "failure": 2, "incomplete": 1, "error": 2})
DRAWN: dict[str, Any] = {"RUN_STEPS": FEW_STEPS, "OUTCOMES": OUTCOMES}
DRAWN |= {"LOOPS": 0.9, "FALSE_COMPLETIONS": 0.9}
"""What is rare elsewhere is common enough here that a small site fills a page with it."""
FEW_TASKS = tuple(replace(shape, n_tasks=12, sites=shape.sites[:6]) for shape in shares.SETS)
SUBJECT_RUNS = 24


class GrowingWorld:
    """The site, and how it grows."""

    def __init__(self) -> None:
        world = make_world()
        self._random = Random(5)
        self._pool = read_pool(self._random)
        with mock.patch.object(shares, "SETS", FEW_TASKS):
            plan = make_plan(self._pool, self._random)
        people = {
            Role.ANNOTATOR: [world.annotator, *world.others[:2]],
            Role.ADJUDICATOR: [world.adjudicator],
            Role.ENGINEER: plan.people[Role.ENGINEER],
        }
        self._plan = replace(plan, people=people)
        self._judging = Judging(self._plan, self._pool)
        self._runs = Bulk(Run, (*RUN_COLUMNS, "policy", "launch"))
        self._policies = list(RetryPolicy.objects.order_by("pk").values_list("pk", flat=True))
        self._steps = Bulk(Step, ("run", "index", *STEP_COLUMNS))
        self._events = Bulk(Event, ("run", "kind", "first_step", "last_step"))
        self._picture = world.picture
        self._engineer = plan.people[Role.ENGINEER][0]
        self._strict = plan.evaluators["webarena-strict"]
        self._rows: dict[type[models.Model], list[models.Model]] = {}
        self._new_studies: list[Study] = []
        self._numbers = count(1)
        self._days = count()
        self._patched: Task | None = None
        self._n_large = 0
        self.n_runs = 0
        self.world = self._with_subject(world)
        # From here on the viewers have no part in what comes.
        self._plan.people.update(
            {role: plan.people[role] for role in (Role.ANNOTATOR, Role.ADJUDICATOR)}
        )
        self._large = self._study("Large", is_open=True)
        self._add(RUNS_AT_ONCE)
        self._settle_down()

    def grow_to(self, n_runs: int) -> None:
        """Add to the site until it has so many runs."""
        self._multiplier = Multiplier()
        while self.n_runs < n_runs:
            self._add(min(RUNS_AT_ONCE, n_runs - self.n_runs))
        self._settle_down()

    def multiply(self, times: int) -> None:
        """Have so many times as much of all that `grow_to` added."""
        self._multiplier.multiply(times, self.n_runs)
        _gather_statistics()

    def _settle_down(self) -> None:
        self._judging.finish()
        self._flush()
        self._discuss()
        _gather_statistics()

    def _with_subject(self, world: World) -> World:
        """The world whose run, study and experiment are some that have everything."""
        drawn = self._add(SUBJECT_RUNS, subject=True)
        self._settle_down()
        study = Study.objects.get(name="Subject")
        settled = ReferenceVerdict.objects.filter(item__study=study).order_by("item__position")
        verdict = settled[0]
        decided = Dispute.objects.filter(item__study=study, item__verdict__isnull=False)
        hint = Hint.objects.get(source=UUID(drawn[0].id))
        batch = EvaluationBatch.objects.get(study=study)
        return replace(
            world,
            run=verdict.run,
            other_study=study,
            other_dispute=decided.order_by("pk")[0],
            hints=[hint, *world.hints],
            batches=[batch, *world.batches],
            evaluator=self._plan.evaluators["webarena-strict"],
        )

    def _add(self, n: int, *, subject: bool = False) -> list[Drawn]:
        """An experiment of so many runs, and what a lab does with them."""
        random = self._random
        number = next(self._numbers)
        tasks = self._tasks(number, subject=subject)
        shape = self._plan.groups[number % len(self._plan.groups)].shape
        experiment = Experiment.objects.create(
            name="Subject" if subject else f"Experiment {number}",
            created_by=self._engineer,
            state="paused" if number == PAUSED else "running",
            keep_days=365 if number % 10 == 5 else None,
        )
        plan = replace(self._plan, groups=[TaskGroup(shape, tasks)])
        with mock.patch.multiple(shares, **DRAWN):
            drawn = list(
                draw_runs(
                    n,
                    first=self.n_runs,
                    plan=plan,
                    pool=self._pool,
                    random=random,
                    experiment=experiment.pk,
                    paused=experiment.state == "paused",
                )
            )
        self.n_runs += n
        policies = [random.choice(self._policies) if random.random() < 0.2 else None for _ in drawn]
        launch = UUID(int=number, version=4).hex
        self._runs.add(
            (*run.row, policy, launch if policy else None)
            for run, policy in zip(drawn, policies, strict=True)
        )
        self._steps.add(step for run in drawn for step in run.steps)
        self._events.add(event for run in drawn for event in run.events)
        self._judging.evaluate(drawn, random)
        free = [run for run in drawn if run.is_judgeable]
        study = self._judge(number, free, subject=subject)
        ended = [UUID(run.id) for run in free]
        if ended:
            self._work(number, ended, tasks, study, experiment)
        return free

    def _tasks(self, number: int, *, subject: bool) -> list[Task]:
        """A few tasks, some of which are infeasible, patched, or have milestones."""
        group = self._plan.groups[number % len(self._plan.groups)]
        task_set = group.tasks[0].task_set
        if subject:
            task_set = TaskSet.objects.create(name="Subject", version="1")
        sites = group.shape.sites
        tasks = Task.objects.bulk_create(
            Task(
                task_set=task_set,
                external_id=f"grown.{number}.{place}",
                site=sites[place % len(sites)],
                sites=[sites[place % len(sites)]],
                goal=f"{self._random.choice(self._pool.goals)} ({number}.{place})",
                template=str(number),
                evaluation_kind=group.shape.evaluation_kinds[0],
                infeasible_reason="No such page" if place == 1 and number % 2 else "",
                original=self._patched if place == 2 else None,
                spec={"eval_types": ["string_match"], "reference_answers": {"exact_match": "x"}},
            )
            for place in range(TASKS_AT_ONCE)
        )
        self._patched = tasks[0]
        self._store(
            TaskRevision(task=tasks[2], category="reference", why="It was wrong.", changes=[]),
            *(Milestone(task=tasks[0], position=place, name=f"part {place}") for place in range(2)),
        )
        return tasks

    def _study(self, name: str, *, is_open: bool, people: Sequence[User] = ()) -> Study:
        study = Study.objects.create(
            name=name,
            is_open=is_open,
            taxonomy=[{"key": "loop", "name": "Loop"}],
            created_by=self._plan.people[Role.ENGINEER][0],
        )
        Guideline.objects.create(study=study, version=1, text="Look well.")
        everybody = people or self._plan.people[Role.ANNOTATOR]
        members = [(user, StudyMember.Part.ANNOTATOR) for user in everybody]
        members += [
            (user, StudyMember.Part.ADJUDICATOR) for user in self._plan.people[Role.ADJUDICATOR]
        ]
        StudyMember.objects.bulk_create(
            StudyMember(study=study, user=user, part=part) for user, part in members
        )
        return study

    def _judge(self, number: int, runs: list[Drawn], *, subject: bool) -> Study:
        """A small study, settled and closed but for a few; and some into the large one."""
        annotators = self._plan.people[Role.ANNOTATOR]
        people = annotators[:3] if number % 3 == 0 or subject else annotators[3:8]
        is_open = number % 40 == 7 and not subject
        study = self._study(
            "Subject" if subject else f"Study {number}", is_open=is_open, people=people
        )
        own = runs if subject else runs[:IN_OWN_STUDY]
        self._judging.study(
            study, own, first=1, people=people, settled=not is_open, random=self._random
        )
        if not subject:
            large = runs[IN_OWN_STUDY : IN_OWN_STUDY + 1]
            first = self._n_large + 1
            self._n_large += len(large)
            self._judging.study(
                self._large,
                large,
                first=first,
                people=annotators,
                settled=False,
                random=self._random,
            )
        self._new_studies.append(study)
        return study

    def _work(
        self,
        number: int,
        ended: list[UUID],
        tasks: list[Task],
        study: Study,
        experiment: Experiment,
    ) -> None:
        """What people and machines did with the runs."""
        self._learn(number, ended, tasks)
        self._look(ended, study, experiment)
        self._bring_in(number, ended, study)

    def _learn(self, number: int, ended: list[UUID], tasks: list[Task]) -> None:
        """Hints and web knowledge that were drawn from the runs."""
        params: dict[str, Any] = {"runs": [str(ended[0])], "levels": ["concrete"]}
        params |= {"verdict": "reference", "verdict_name": "x"}
        job = LearningJob(
            kind="hints", state="finished", model="m", n_total=1, n_done=1, params=params
        )
        hint = Hint(
            job=job,
            source_id=ended[0],
            level="concrete",
            text="Press the button.",
            model="m",
            prompt_version="1",
            prompt_hash="0" * 64,
            asks=1,
            input_tokens=1,
            output_tokens=1,
            seconds=0.1,
        )
        chosen = HintSet(key=f"grown.{number}", job=job, level="concrete", relatedness="same_task")
        choices = [
            HintChoice(hint_set=chosen, task=task, hint=hint, score=0.0, n_tied=1)
            for task in tasks[:2]
        ]
        knowledge = KnowledgeSet(
            name=f"Knowledge {number}", site="shopping", kind="raw", n_entries=1
        )
        entry = KnowledgeEntry(
            knowledge_set=knowledge, position=0, intent="Find", ok="Search", ng="Browse"
        )
        source = KnowledgeSource(entry=entry, run_id=ended[0], steps=[0])
        self._store(job, hint, chosen, *choices, knowledge, entry, source)

    def _look(self, ended: list[UUID], study: Study, experiment: Experiment) -> None:
        """How runs failed, and evaluations that were asked for."""
        engineer, agent = self._engineer, self._plan.agents[0]
        reviews = [
            FailureReview(run_id=run, decision="confirmed", modes={"plan_error": {}}, by=engineer)
            for run in ended[:2]
        ]
        sample = FailureSample(
            experiment=experiment, agent=agent, seed=1, wanted=1, among=1, drawn_by=engineer
        )
        drawn = SampledFailure(sample=sample, run_id=ended[0], position=1)
        tag = FailureCauseTag(run_id=ended[0], cause="vision", by=engineer)
        batch = EvaluationBatch(
            study=study, evaluator=self._strict, state="finished", n_total=2, n_done=2, n_passed=2
        )
        items = [
            EvaluationBatchItem(batch=batch, run_id=run, position=place, is_done=True)
            for place, run in enumerate(ended[:2])
        ]
        self._store(*reviews, sample, drawn, tag, batch, *items)

    def _bring_in(self, number: int, ended: list[UUID], study: Study) -> None:
        """Imports, files, downloads, and who did it."""
        by = self._engineer
        job = ImportJob(
            created_by=by, file_name=f"{number}.zip", path="x", size=1, state="finished"
        )
        self._store(
            job,
            Attachment(run_id=ended[0], role="log", name="log", blob=self._picture),
            Blob(sha256=f"{number:064x}", media_type="image/png", size=10, stored_size=10),
            DeletedRun(run_id=UUID(int=number), reason="old", experiment="Old one"),
            LabelImport(
                created_by=by,
                file_name="l.csv",
                path="x",
                size=1,
                study_name=study.name,
                state="finished",
            ),
            StudyDownload(study=study, kind="report", state="finished", created_by=by),
            ApiAnswer(owner=by, key=str(number), request_hash="0" * 64),
        )
        for place, run in enumerate(ended):
            self._store(
                RunOfImport(job=job, id_in_file=str(place), run_id=run),
                RunSpace(run_id=run, n_files=1, total=1000 + place),
                AuditEntry(
                    kind="label.submitted" if place % 2 else "file.downloaded",
                    user=by,
                    name=by.username,
                    via="page",
                    about_kind="run",
                    about_id=str(run),
                ),
            )
        if number % 10 == 0:
            measured = {"measured_at": timezone.now(), "seconds": 1.0, "n_files": 1, "stored": 1}
            day = date(2026, 1, 1) + timedelta(days=next(self._days))
            self._store(SpaceMeasurement(day=day, **measured))

    def _discuss(self) -> None:
        """Labels in detail: remarks, changes, ticks, causes of errors, discussions."""
        by = self._engineer
        studies = [study.pk for study in self._new_studies]
        self._new_studies.clear()
        some = ReferenceVerdict.objects.filter(
            item__study__among=studies, item__position__in=(1, 3)
        )
        some.exclude(item__study__name="Subject").update(verdict="not_executable")
        items = StudyItem.objects.filter(study__among=studies, position__lte=2)
        labels = Label.objects.filter(item__study__among=studies, item__position__lte=2)
        for item in items:
            self._store(
                CauseTag(
                    item=item,
                    evaluator=self._strict,
                    evaluator_name=self._strict.name,
                    error=CauseTag.Error.FN,
                    causes=["url_form"],
                    repair="task_data",
                    by=by,
                ),
                StepComment(item=item, author=by, step_index=0, text="Not the cheapest"),
                Unblinding(study_id=item.study_id, item=item, user=by, reason="asked"),
            )
        milestones: dict[int, Milestone] = {}
        for milestone in Milestone.objects.filter(task__runs__study_items__study__among=studies):
            milestones.setdefault(milestone.task_id, milestone)
        for label in labels.select_related("item__run"):
            self._store(LabelRevision(label=label, content={"success": "unsure"}))
            if reached := milestones.get(label.item.run.task_id):
                self._store(MilestoneTick(label=label, milestone=reached, achieved=True, step=0))
        for dispute in Dispute.objects.filter(item__study__among=studies):
            self._store(DisputeMessage(dispute=dispute, author=by, text="I looked again"))
        self._flush()

    def _store(self, *rows: models.Model) -> None:
        """Have the rows written with the next ones; what they refer to was given before them."""
        for row in rows:
            self._rows.setdefault(type(row), []).append(row)

    def _flush(self) -> None:
        for model, rows in self._rows.items():
            model._default_manager.bulk_create(rows)
        self._rows.clear()


def _gather_statistics() -> None:
    """Have PostgreSQL's planner know how large everything is; SQLite's is never told."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE")
