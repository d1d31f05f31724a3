"""`trajectory-judge`: whether a stored run fulfilled its task, going by what happened in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from judging.evaluators.contract import Finding
from judging.evaluators.judged import finding_of
from judging.evaluators.judges.settings import TrajectorySettings
from judging.evaluators.judges.shown import Trajectory
from judging.evaluators.judges.trajectory import TrajectoryJudge
from judging.evaluators.whole_runs import WholeRunEvaluator
from runs.models import Run
from webagent.llm.interface import Request


@dataclass(frozen=True, slots=True, kw_only=True)
class TrajectoryJudgeEvaluator(WholeRunEvaluator):
    """Asks a model about the whole run; needs no reference answer."""

    name: ClassVar[str] = "trajectory-judge"
    settings_type: ClassVar[type[TrajectorySettings]] = TrajectorySettings

    settings: TrajectorySettings

    def found(self, run: Run, trajectory: Trajectory, shown: Mapping[str, object]) -> Finding:
        return finding_of(self._judge.judge(trajectory), more=shown)

    def requests(self, run: Run, trajectory: Trajectory) -> Sequence[Request]:
        return self._judge.requests(trajectory)

    @property
    def _judge(self) -> TrajectoryJudge:
        return TrajectoryJudge(language_model=self.language_model, settings=self.settings)
