"""Evaluators that show a model a whole run and ask it once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

from django.utils.translation import gettext_noop

from judging.evaluators.contract import Finding, without_outcome
from judging.evaluators.judges.estimates import tokens_of
from judging.evaluators.judges.settings import ShownSettings
from judging.evaluators.judges.shown import Trajectory
from judging.evaluators.matching.outcome import EvaluatorIdentity
from judging.evaluators.shown_runs import trajectory_of
from judging.models import EvaluatorVersion
from runs.models import Run
from webagent.llm.interface import LanguageModel, Request

NO_STEPS = gettext_noop("the run has no steps")


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeRunEvaluator(ABC):
    """What they share. Runs that came to no end of their own, or took no step, are not asked of."""

    name: ClassVar[str]
    version: ClassVar[str] = "1"
    kind: ClassVar[EvaluatorVersion.Kind] = EvaluatorVersion.Kind.JUDGE
    settings_type: ClassVar[type[ShownSettings]]

    language_model: LanguageModel
    settings: ShownSettings

    @classmethod
    def make(cls, *, language_model: LanguageModel, **config: object) -> Self:
        """The judge so configured. Raises ValueError for settings it does not know."""
        settings = cls.settings_type.model_validate(config)
        return cls(language_model=language_model, settings=settings)

    @property
    def identity(self) -> EvaluatorIdentity:
        return EvaluatorIdentity(
            name=self.name,
            kind=self.kind.value,
            version=self.version,
            config=self.settings.model_dump(mode="json"),
        )

    def applies_to(self, run: Run) -> bool:
        return run.n_steps > 0

    def evaluate(self, run: Run) -> Finding:
        if (finding := self.unasked(run)) is not None:
            return finding
        trajectory = trajectory_of(run, self.settings)
        if not trajectory.steps:
            return Finding.not_applicable(NO_STEPS)
        shown = {"pictures": [picture.step for picture in trajectory.pictures]}
        return self.found(run, trajectory, shown)

    def estimate(self, run: Run) -> tuple[int, int]:
        """Input tokens, roughly, and output tokens at most."""
        if not run.n_steps or self.unasked(run) is not None:
            return 0, 0
        return tokens_of(self.requests(run, trajectory_of(run, self.settings)))

    def unasked(self, run: Run) -> Finding | None:
        """The finding where there is nothing to ask about; None where there is."""
        return without_outcome(run)

    @abstractmethod
    def found(self, run: Run, trajectory: Trajectory, shown: Mapping[str, object]) -> Finding:
        """What the model says of it. `shown` goes into the finding's details."""

    @abstractmethod
    def requests(self, run: Run, trajectory: Trajectory) -> Sequence[Request]:
        """What it is asked, without repair attempts."""
