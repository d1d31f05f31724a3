"""`milestones-judge`: how far a stored run got, as a model says of all its task's milestones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from django.utils.translation import gettext_noop

from judging.evaluators.contract import Finding, without_outcome
from judging.evaluators.judged import finding_of
from judging.evaluators.progress import NO_MILESTONES, progress_details, progress_score
from judging.evaluators.shown_runs import trajectory_of
from judging.judges.estimates import tokens_of
from judging.judges.milestones import MilestoneJudge
from judging.judges.settings import MilestoneSettings
from judging.matching.outcome import EvaluatorIdentity
from judging.models import EvaluatorVersion
from runs.milestones import definitions_of
from runs.models import Run
from webagent.llm.interface import LanguageModel

NO_STEPS = gettext_noop("the run has no steps")


@dataclass(frozen=True, slots=True, kw_only=True)
class MilestoneJudgeEvaluator:
    """Asks a model once about all milestones of a run. Passes where all held at the end.

    Its score is the highest progress of the run, in [0, 1].
    """

    name: ClassVar[str] = "milestones-judge"
    version: ClassVar[str] = "1"

    language_model: LanguageModel
    settings: MilestoneSettings

    @classmethod
    def make(cls, *, language_model: LanguageModel, **config: object) -> MilestoneJudgeEvaluator:
        """The judge so configured. Raises ValueError for settings it does not know."""
        return cls(language_model=language_model, settings=MilestoneSettings.model_validate(config))

    @property
    def identity(self) -> EvaluatorIdentity:
        return EvaluatorIdentity(
            name=self.name,
            kind=EvaluatorVersion.Kind.JUDGE.value,
            version=self.version,
            config=self.settings.model_dump(mode="json"),
        )

    def applies_to(self, run: Run) -> bool:
        return run.n_steps > 0 and run.task.milestones.in_force().exists()

    def evaluate(self, run: Run) -> Finding:
        if (finding := without_outcome(run)) is not None:
            return finding
        milestones = definitions_of(run.task)
        if not milestones:
            return Finding.not_applicable(NO_MILESTONES)
        trajectory = trajectory_of(run, self.settings)
        if not trajectory.steps:
            return Finding.not_applicable(NO_STEPS)
        found = self._judge().judge(trajectory, milestones)
        shown = {"pictures": [picture.step for picture in trajectory.pictures]}
        if found.progress is None:
            return finding_of(found.judged, more=shown)
        details = progress_details(milestones, found.findings, found.progress)
        return progress_score(finding_of(found.judged, more=shown | details), found.progress)

    def estimate(self, run: Run) -> tuple[int, int]:
        """Input tokens, roughly, and output tokens at most."""
        milestones = definitions_of(run.task)
        if without_outcome(run) is not None or not run.n_steps or not milestones:
            return 0, 0
        trajectory = trajectory_of(run, self.settings)
        return tokens_of(self._judge().requests(trajectory, milestones))

    def _judge(self) -> MilestoneJudge:
        return MilestoneJudge(language_model=self.language_model, settings=self.settings)
