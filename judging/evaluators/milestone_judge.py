"""`milestones-judge`: how far a stored run got, as a model says of all its task's milestones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from judging.evaluators.contract import Finding, without_outcome
from judging.evaluators.judged import finding_of
from judging.evaluators.judges.milestones import MilestoneJudge
from judging.evaluators.judges.settings import MilestoneSettings
from judging.evaluators.judges.shown import Trajectory
from judging.evaluators.progress import JUDGED, NO_MILESTONES, progress_details, progress_score
from judging.evaluators.whole_runs import WholeRunEvaluator
from runs.catalogue.milestones.definitions import definitions_of
from runs.models import Run
from webagent.llm.interface import Request


@dataclass(frozen=True, slots=True, kw_only=True)
class MilestoneJudgeEvaluator(WholeRunEvaluator):
    """Asks a model once about all milestones of a run. Passes where all held at the end.

    Its score is the highest progress of the run, in [0, 1].
    """

    name: ClassVar[str] = JUDGED
    settings_type: ClassVar[type[MilestoneSettings]] = MilestoneSettings

    settings: MilestoneSettings

    def applies_to(self, run: Run) -> bool:
        return run.n_steps > 0 and run.task.milestones.in_force().exists()

    def unasked(self, run: Run) -> Finding | None:
        if (finding := without_outcome(run)) is not None:
            return finding
        has_any = run.task.milestones.in_force().exists()
        return None if has_any else Finding.not_applicable(NO_MILESTONES)

    def found(self, run: Run, trajectory: Trajectory, shown: Mapping[str, object]) -> Finding:
        milestones = definitions_of(run.task)
        found = self._judge.judge(trajectory, milestones)
        if found.progress is None:
            return finding_of(found.judged, more=shown)
        details = progress_details(milestones, found.findings, found.progress)
        finding = finding_of(found.judged, more={**shown, **details})
        return progress_score(finding, found.progress)

    def requests(self, run: Run, trajectory: Trajectory) -> Sequence[Request]:
        return self._judge.requests(trajectory, definitions_of(run.task))

    @property
    def _judge(self) -> MilestoneJudge:
        return MilestoneJudge(language_model=self.language_model, settings=self.settings)
