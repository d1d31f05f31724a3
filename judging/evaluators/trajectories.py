"""`trajectory-judge`: whether a stored run fulfilled its task, going by what happened in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from django.utils.translation import gettext_noop

from judging.evaluators.contract import Finding, without_outcome
from judging.evaluators.judged import finding_of
from judging.evaluators.shown_runs import trajectory_of
from judging.judges.estimates import tokens_of
from judging.judges.settings import TrajectorySettings
from judging.judges.trajectory import TrajectoryJudge
from judging.matching.outcome import EvaluatorIdentity
from judging.models import EvaluatorVersion
from runs.models import Run
from webagent.llm.interface import LanguageModel

NO_STEPS = gettext_noop("the run has no steps")


@dataclass(frozen=True, slots=True, kw_only=True)
class TrajectoryJudgeEvaluator:
    """Asks a model about the whole run; needs no reference answer."""

    name: ClassVar[str] = "trajectory-judge"
    version: ClassVar[str] = "1"

    language_model: LanguageModel
    settings: TrajectorySettings

    @classmethod
    def make(cls, *, language_model: LanguageModel, **config: object) -> TrajectoryJudgeEvaluator:
        """The judge so configured. Raises ValueError for settings it does not know."""
        return cls(
            language_model=language_model, settings=TrajectorySettings.model_validate(config)
        )

    @property
    def identity(self) -> EvaluatorIdentity:
        return EvaluatorIdentity(
            name=self.name,
            kind=EvaluatorVersion.Kind.JUDGE.value,
            version=self.version,
            config=self.settings.model_dump(mode="json"),
        )

    def applies_to(self, run: Run) -> bool:
        return run.n_steps > 0

    def evaluate(self, run: Run) -> Finding:
        if (finding := without_outcome(run)) is not None:
            return finding
        trajectory = trajectory_of(run, self.settings)
        if not trajectory.steps:
            return Finding.not_applicable(NO_STEPS)
        shown = [picture.step for picture in trajectory.pictures]
        return finding_of(self._judge().judge(trajectory), more={"pictures": shown})

    def estimate(self, run: Run) -> tuple[int, int]:
        """Input tokens, roughly, and output tokens at most."""
        if without_outcome(run) is not None or not run.n_steps:
            return 0, 0
        return tokens_of(self._judge().requests(trajectory_of(run, self.settings)))

    def _judge(self) -> TrajectoryJudge:
        return TrajectoryJudge(language_model=self.language_model, settings=self.settings)
