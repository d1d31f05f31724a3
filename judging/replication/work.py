"""Doing what a study file says: each part is started once, when what it waits for is there."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from decimal import Decimal
from functools import partial
from pathlib import Path
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from judging.analysis.experiments.sources import Source
from judging.analysis.hint_effects.source_runs import SourceRunQuery, source_runs
from judging.evaluating.evaluating import runs_of, runs_without, version_of
from judging.evaluating.services import resume_batch, start_batch
from judging.models import EvaluationBatch, Replication, ReplicationPart, Study, StudyMember
from judging.replication.data import (
    import_causes,
    import_label_files,
    import_run_files,
    import_splits,
)
from judging.replication.evaluators import evaluator_chosen
from judging.replication.expected import policy_name, policy_of
from judging.replication.planning import Group, NotYetError, Planner, groups_of, jobs_of
from judging.replication.services import REPLICATION_STARTED
from judging.replication.sources import Kind, Sources
from judging.replication.study_fields import StudyFileError
from judging.replication.study_file import StudyFile
from judging.replication.study_parts import Judging, Learning
from judging.studies.protocols import parse_lines
from judging.studies.services import Protocol, create_study, draw, set_member
from runs.accounts.audit_log import record_entry
from runs.catalogue.agents.runnable import agent_hash
from runs.knowledge.hints.writing import start_hint_writing
from runs.knowledge.learning import resume_learning
from runs.knowledge.web.services import start_extraction
from runs.launching.experiments.hint_plans import HintPlan, launch_hint_experiment
from runs.launching.experiments.services import (
    active_runs,
    launch_experiment,
    resume_experiment,
)
from runs.launching.policies.services import save_policy
from runs.models import LearningJob, RetryPolicy, Run, RunStatus, User
from runs.models.leased_work import WorkState
from webagent.knowledge.entries import Level
from webagent.recovery.retry_policy import PolicyBody
from webagent.trajectory.texts import bounded_name

SAME_STUDY = uuid.UUID("6f6d7e64-92a1-4f3a-9f1f-6a0f0c2f2b7d")
"""Under it, a study file and a part become a token: the same part is launched once."""
LONGEST_NAME = 200
ACTIVE = (WorkState.QUEUED, WorkState.RUNNING)
Batch = EvaluationBatch


class Work:
    """The work of one replication. Each verb does what can be done now, and twice does nothing.

    Args:
        folder: where the files lie that the study file names; None where they cannot be read.
        is_told: whoever calls carries jobs and batches out, so that no worker is told.
    """

    def __init__(
        self,
        replication: Replication,
        *,
        user: User | None = None,
        folder: Path | None = None,
        is_told: bool = False,
    ) -> None:
        self.replication, self.user, self.folder = replication, user, folder
        self._is_told = is_told

    @property
    def file(self) -> StudyFile:
        return self.sources.file

    @property
    def sources(self) -> Sources:
        """As things are now."""
        return Sources(self.replication, None)

    def start_all(self) -> None:
        """Start every part whose time has come.

        Raises:
            StudyFileError: a part of the file cannot be done here; the words name it.
            PlanError, WorkRefusedError, ModelUnavailableError: the same, of what is launched.
        """
        self._begin()
        self._import_runs()
        for group in groups_of(self.file):
            self._once(Kind.EXPERIMENT, group.key, partial(self._launch, group))
        for key, learning in self.file.learning.items():
            if self._are_over(learning.arms):
                self._once(Kind.LEARNING, key, partial(self._learn, key, learning))
        for key, judging in self.file.judging.items():
            if not judging.study and self._are_over(judging.arms):
                self._once(Kind.JUDGING, key, partial(self._judge, key, judging))
        self._evaluate()
        self._note_end()

    def resume(self) -> None:
        """Have what was stopped go on: experiments that rest, jobs and batches that stopped.

        Raises:
            WorkRefusedError: a job or batch has reached its limit of costs.
        """
        for part in self._parts():
            if part.experiment:
                resume_experiment(experiment=part.experiment)
            if part.job and part.job.state in LearningJob.State.stopped():
                resume_learning(job=part.job)
        for batch in self.batches():
            if batch.state in Batch.State.stopped():
                resume_batch(batch=batch)

    def batches(self) -> list[Batch]:
        """The evaluations that it had made."""
        studies = [study.pk for study in self.sources.studies.values()]
        since = self.replication.started_at or self.replication.created_at
        return list(Batch.objects.filter(study__in=studies, created_at__gte=since).order_by("pk"))

    def jobs(self) -> list[LearningJob]:
        """What is being learned, summaries of its extractions included."""
        own = [part.job for part in self._parts() if part.job]
        summaries = LearningJob.objects.filter(
            kind=LearningJob.Kind.SUMMARISE,
            params__set__in=[pk for job in own for pk in job.report.get("sets", [])],
        )
        return [*own, *summaries]

    def _parts(self) -> list[ReplicationPart]:
        rows = self.replication.parts.select_related("experiment", "study", "job")
        return list(rows.order_by("pk"))

    @transaction.atomic
    def _begin(self) -> None:
        row = Replication.objects.select_for_update().get(pk=self.replication.pk)
        if row.started_at is None:
            record_entry(REPLICATION_STARTED, about=row, words=row.name, user=self.user)
        row.started_at = row.started_at or timezone.now()
        row.problem = ""
        row.save(update_fields=["started_at", "problem"])
        self.replication = row

    def _once(self, kind: Kind, key: str, make: Callable[[], ReplicationPart | None]) -> None:
        """Make a part that is not there, and its row, together or not at all."""
        key = bounded_name(key, LONGEST_NAME)
        with transaction.atomic():
            # Two who start it at the same time take turns.
            Replication.objects.select_for_update().get(pk=self.replication.pk)
            if self.replication.parts.filter(kind=kind, key=key).exists():
                return
            try:
                part = make()
            except NotYetError:
                return
            if part is not None:
                part.replication, part.kind, part.key = self.replication, kind, key
                part.save(force_insert=True)

    def _token(self, part: str) -> UUID:
        name = f"{self.replication.name} {self.file.work_hash} {part}"
        return uuid.uuid5(SAME_STUDY, name)

    def _launch(self, group: Group) -> ReplicationPart:
        planner = Planner(self.file, jobs_of(self._parts()), self.user)
        plan = planner.plan(group, self._policy(group))
        token = self._token(f"experiment {group.key}")
        if isinstance(plan, HintPlan):
            launched = launch_hint_experiment(plan=plan, token=token, user=self.user)
            agents = [plan.base]
        else:
            launched = launch_experiment(plan=plan, token=token, user=self.user)
            agents = list(plan.agents)
        hashes = map(agent_hash, agents)
        return ReplicationPart(
            experiment=launched.experiment,
            configurations=dict(zip(group.arms, hashes, strict=True)),
        )

    def _policy(self, group: Group) -> RetryPolicy | None:
        said = group.first.policy
        if isinstance(said, PolicyBody):
            words = _("From the study file of %(name)s.") % {"name": self.replication.name}
            return save_policy(
                name=policy_name(group),
                body=said,
                description=words,
                user=self.user,
                is_new=False,
            )
        return policy_of(group)

    def _are_over(self, arms: Sequence[str]) -> bool:
        """Whether all runs of these arms have ended."""
        found = self.sources.arms
        runs = [found[key] for key in arms]
        return not any(
            isinstance(each, str) or active_runs(each.experiment).exists() for each in runs
        )

    def _runs(self, arms: Sequence[str]) -> QuerySet[Run]:
        """The runs of these arms that have ended, of each trial the last attempt."""
        sources = self.sources
        rows = Run.objects.none()
        for key in arms:
            each = sources.arm(key)
            rows |= Run.objects.filter(experiment=each.experiment, agent=each.agent)
        return rows.filter(superseded=False, status__in=RunStatus.ended())

    def _learn(self, key: str, learning: Learning) -> ReplicationPart:
        cost = None if learning.max_cost is None else Decimal(str(learning.max_cost))
        if learning.kind == "knowledge":
            name = learning.name or f"{self.replication.name} {key}"
            runs = self._runs(learning.arms).order_by("created_at", "pk")
            job = start_extraction(
                name=name[:LONGEST_NAME],
                runs=list(runs.values_list("pk", flat=True)),
                model=learning.model,
                then_summarise=learning.summarise,
                max_cost=cost,
                user=self.user,
                is_told=self._is_told,
            )
            return ReplicationPart(job=job)
        source = Source()
        job = start_hint_writing(
            model=learning.model,
            run_ids=self._hint_sources(learning, source),
            levels=tuple(Level),
            verdict=source.key,
            verdict_name=source.name,
            verdict_rule=source.rule,
            max_cost=cost,
            user=self.user,
            is_told=self._is_told,
        )
        return ReplicationPart(job=job)

    def _hint_sources(self, learning: Learning, source: Source) -> list[UUID]:
        found: list[UUID] = []
        for key in learning.arms:
            runs = self.sources.arm(key)
            query = SourceRunQuery(
                user=self.user,
                experiment=runs.experiment,
                configurations=[runs.agent.config_hash],
            )
            found += source_runs(query, source).runs
        return list(dict.fromkeys(found))

    def _judge(self, key: str, judging: Judging) -> ReplicationPart:
        name = bounded_name(judging.name or f"{self.replication.name}: {key}", LONGEST_NAME)
        if judging.labels:
            paths = [self._path(each) for each in judging.labels]
            study = import_label_files(paths, name, self.user)
        else:
            study = self._study(name, judging)
        if judging.splits:
            import_splits(self._path(judging.splits), study)
        if judging.causes:
            import_causes(self._path(judging.causes), study, self.user)
        return ReplicationPart(study=study)

    def _study(self, name: str, judging: Judging) -> Study:
        """A study of a sample of the arms' runs, the same wherever the same is run."""
        rows = self._runs(judging.arms).exclude(n_steps=0)
        ordered = rows.order_by(
            "task__task_set__name", "task__external_id", "agent__config_hash", "trial", "pk"
        )
        ids = list(ordered.values_list("pk", flat=True))
        drawn = [ids[place] for place in draw(range(len(ids)), judging.sample, judging.seed)]
        study = create_study(
            name=name,
            run_ids=drawn,
            protocol=Protocol(
                labels_per_run=judging.labels_per_run,
                hides_identity=judging.hides_identity,
                asks_milestones=judging.asks_milestones,
                asks_failure_details=judging.asks_failure_details,
                repeat_share=judging.repeat_share,
                taxonomy=parse_lines("\n".join(judging.failure_causes)),
            ),
            guidelines=judging.guidelines,
            description=self.file.paper.title,
            created_by=self.user,
            seed=judging.seed,
            sample_size=judging.sample,
        )
        for part, names in (
            (StudyMember.Part.ANNOTATOR, judging.annotators),
            (StudyMember.Part.ADJUDICATOR, judging.adjudicators),
        ):
            for each in names:
                set_member(study=study, user=_person(self.replication, each), part=part)
        return study

    def _evaluate(self) -> None:
        studies = self.sources.studies
        for key, judging in self.file.judging.items():
            study = studies.get(key)
            for chosen in judging.evaluators if study else ():
                evaluator, _model = evaluator_chosen(chosen)
                version = version_of(evaluator)
                there = Batch.objects.filter(study=study, evaluator=version)
                ended_short = there.filter(state__in=Batch.State.stopped()).exists()
                if there.active().exists() or ended_short or study is None:
                    continue
                if runs_without(version, runs_of(study)).exists():
                    cost = None if chosen.max_cost is None else Decimal(str(chosen.max_cost))
                    start_batch(
                        evaluator=evaluator,
                        study=study,
                        max_cost=cost,
                        user=self.user,
                        notifies=not self._is_told,
                    )

    def _import_runs(self) -> None:
        if self.file.runs and self.folder is not None:
            import_run_files([self._path(each) for each in self.file.runs], self.user)

    def _path(self, name: str) -> Path:
        """A file beside the study file. Raises StudyFileError where it is not there."""
        if self.folder is None:
            reason = _("it lies beside the study file: start it with manage.py replicate")
            raise StudyFileError(self.replication.file_name, name, reason)
        path = self.folder / name
        if not path.exists():
            raise StudyFileError(self.replication.file_name, name, _("there is no such file"))
        return path

    def _note_end(self) -> None:
        """Whether nothing is left to start and nothing is under way."""
        is_over = self.is_over()
        if is_over != bool(self.replication.ended_at):
            self.replication.ended_at = timezone.now() if is_over else None
            self.replication.save(update_fields=["ended_at"])

    def is_over(self) -> bool:
        """Whether all parts are there, and none of them is under way."""
        there = {(part.kind, part.key) for part in self._parts()}
        wanted = [(Kind.EXPERIMENT, group.key) for group in groups_of(self.file)]
        wanted += [(Kind.LEARNING, key) for key in self.file.learning]
        wanted += [(Kind.JUDGING, key) for key, each in self.file.judging.items() if not each.study]
        return there >= set(wanted) and not self.is_under_way()

    def is_under_way(self) -> bool:
        """Whether something runs, learns or is evaluated."""
        active = [each for each in (*self.jobs(), *self.batches()) if each.state in ACTIVE]
        running = [
            part
            for part in self._parts()
            if part.experiment and active_runs(part.experiment).exists()
        ]
        return bool(active or running)


def _person(replication: Replication, name: str) -> User:
    """Raises StudyFileError where there is no such account."""
    user = User.objects.filter(username=name, is_active=True).first()
    if user is None:
        reason = _("there is no account %(name)s") % {"name": name}
        raise StudyFileError(replication.file_name, "judging.annotators", reason)
    return user
