"""Making the parts of a replication: experiments, learning jobs, studies and evaluations."""

import uuid
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from decimal import Decimal
from functools import cached_property
from pathlib import Path
from uuid import UUID

from django.db.models import QuerySet
from django.utils.translation import gettext as _

from judging.analysis.experiments.population import Source
from judging.analysis.hint_effects.source_runs import SourceRunQuery, source_runs
from judging.evaluating.evaluating import runs_of, runs_without, version_of
from judging.evaluating.services import start_batch
from judging.models import EvaluationBatch, Replication, ReplicationPart, Study, StudyMember
from judging.replication.expected import evaluator_chosen, policy_name, policy_of
from judging.replication.planning import LONGEST_NAME, Group, Planner, jobs_of
from judging.replication.services import import_causes, import_label_files, import_splits
from judging.replication.sources import Sources
from judging.replication.study_file import StudyFile
from judging.replication.study_parts import Judging, Learning, StudyFileError, not_found
from judging.studies.protocols import parse_lines
from judging.studies.services import Protocol, create_study, draw, set_member
from runs.catalogue.agents import agent_hash
from runs.knowledge.hints.writing import start_hint_writing
from runs.knowledge.web.services import start_extraction
from runs.launching.experiments.hint_plans import HintPlan, launch_hint_experiment
from runs.launching.experiments.services import launch_experiment
from runs.launching.policies.services import save_policy
from runs.models import RetryPolicy, Run, User
from webagent.knowledge.entries import Level
from webagent.recovery.retry_policy import PolicyBody
from webagent.trajectory.texts import bounded_name

SAME_STUDY = uuid.UUID("6f6d7e64-92a1-4f3a-9f1f-6a0f0c2f2b7d")
"""Under it, a study file and a part become a token: the same part is launched once."""


@dataclass(eq=False)
class Maker:
    """Makes parts of one replication, each from what is there when it is made."""

    replication: Replication
    _: KW_ONLY
    user: User | None = None
    folder: Path | None = None
    """Where the files lie that the study file names; None where they cannot be read."""
    is_told: bool = False
    """Whoever calls carries jobs and batches out, so that no worker is told."""

    @property
    def sources(self) -> Sources:
        """As things are now."""
        return Sources(self.replication)

    @cached_property
    def file(self) -> StudyFile:
        return self.sources.file

    def launch(self, group: Group) -> ReplicationPart:
        planner = Planner(self.file, jobs_of(self.sources.parts), self.user)
        plan = planner.plan(group, self._policy(group))
        name = f"{self.replication.name} {self.file.work_hash} experiment {group.key}"
        token = uuid.uuid5(SAME_STUDY, name)
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
                name=policy_name(group), body=said, description=words, user=self.user, is_new=False
            )
        return policy_of(group)

    def _runs(self, arms: Sequence[str]) -> QuerySet[Run]:
        """The runs of these arms that have ended, of each trial the last attempt."""
        sources = self.sources
        rows = Run.objects.none()
        for key in arms:
            each = sources.arm(key)
            rows |= Run.objects.filter(experiment=each.experiment, agent=each.agent)
        return rows.ended().filter(superseded=False)

    def learn(self, key: str, learning: Learning) -> ReplicationPart:
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
                is_told=self.is_told,
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
            is_told=self.is_told,
        )
        return ReplicationPart(job=job)

    def _hint_sources(self, learning: Learning, source: Source) -> list[UUID]:
        sources = self.sources
        found: list[UUID] = []
        for key in learning.arms:
            runs = sources.arm(key)
            query = SourceRunQuery(
                user=self.user, experiment=runs.experiment, configurations=[runs.agent.config_hash]
            )
            found += source_runs(query, source).runs
        return list(dict.fromkeys(found))

    def judge(self, key: str, judging: Judging) -> ReplicationPart:
        name = bounded_name(judging.name or f"{self.replication.name}: {key}", LONGEST_NAME)
        if judging.labels:
            paths = [self.path(each) for each in judging.labels]
            study = import_label_files(paths, name, self.user)
        else:
            study = self._study(name, judging)
        if judging.splits:
            import_splits(self.path(judging.splits), study)
        if judging.causes:
            import_causes(self.path(judging.causes), study, self.user)
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

    def evaluate(self) -> None:
        studies = self.sources.studies
        for key, judging in self.file.judging.items():
            study = studies.get(key)
            for chosen in judging.evaluators if study else ():
                evaluator = evaluator_chosen(chosen)
                version = version_of(evaluator)
                there = EvaluationBatch.objects.filter(study=study, evaluator=version)
                ended_short = there.filter(state__in=EvaluationBatch.State.stopped()).exists()
                if there.active().exists() or ended_short or study is None:
                    continue
                if runs_without(version, runs_of(study)).exists():
                    cost = None if chosen.max_cost is None else Decimal(str(chosen.max_cost))
                    start_batch(
                        evaluator=evaluator,
                        study=study,
                        max_cost=cost,
                        user=self.user,
                        notifies=not self.is_told,
                    )

    def path(self, name: str) -> Path:
        """A file beside the study file. Raises StudyFileError where it is not there."""
        if self.folder is None:
            reason = _("it lies beside the study file: start it with manage.py replicate")
            raise StudyFileError(self.replication.file_name, name, reason)
        path = self.folder / name
        if not path.exists():
            raise StudyFileError(self.replication.file_name, name, _("not found"))
        return path


def _person(replication: Replication, name: str) -> User:
    """Raises StudyFileError where there is no such account."""
    user = User.objects.filter(username=name, is_active=True).first()
    if user is None:
        reason = not_found(_("account"), name)
        raise StudyFileError(replication.file_name, "judging.annotators", reason)
    return user
