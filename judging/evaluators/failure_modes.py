"""How stored runs failed: detected mechanically when a run ends, and by a model where one is asked.

Neither says whether a run succeeded, so their verdict is always "not applicable"; what they found
stands in `details["failure_modes"]`, an object by mode, and `details["side"]`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import ClassVar
from uuid import UUID

from django.utils.translation import gettext_noop

from judging.evaluators.contract import Finding, finding_of
from judging.evaluators.failure_detection import (
    VERSION,
    DetectorSettings,
    RunSeen,
    StepSeen,
    detect,
)
from judging.evaluators.judges.shown import Trajectory
from judging.evaluators.judges.whole_run import FailureJudge
from judging.evaluators.matching.outcome import EvaluatorIdentity, excerpt
from judging.evaluators.whole_runs import WholeRunEvaluator
from judging.models import Evaluation, EvaluatorVersion
from runs.models import Event, Run, Step
from webagent.trajectory.actions import ActionKind

HOW_NOT_WHETHER = gettext_noop("says how a run fails, not whether it does")
FOUND, SIDE = "failure_modes", "side"
"""Members of an evaluation's details."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MechanicalFailureModes:
    """`failure-modes-mechanical`: what the detectors find."""

    name: ClassVar[str] = "failure-modes-mechanical"
    settings: DetectorSettings = field(default_factory=DetectorSettings)
    _steps: Mapping[UUID, list[StepSeen]] | None = field(default=None, repr=False, compare=False)
    """Of the runs whose steps were read together."""

    @classmethod
    def make(cls, **config: object) -> MechanicalFailureModes:
        """The detectors so configured. Raises TypeError or ValueError for what they do not know."""
        return cls(settings=DetectorSettings(**config))  # type: ignore[arg-type]  # checked by it

    @property
    def identity(self) -> EvaluatorIdentity:
        return EvaluatorIdentity(
            name=self.name,
            kind=EvaluatorVersion.Kind.MODES.value,
            version=VERSION,
            config=asdict(self.settings),
        )

    def having_read(self, runs: Sequence[Run]) -> MechanicalFailureModes:
        return replace(self, _steps=_steps_seen([run.pk for run in runs]))

    def applies_to(self, run: Run) -> bool:
        return True

    def evaluate(self, run: Run) -> Finding:
        steps = (_steps_seen([run.pk]) if self._steps is None else self._steps).get(run.pk, [])
        found = {
            each.mode.value: {"rule": each.rule.value, "steps": list(each.steps)}
            for each in detect(_run_seen(run, steps), self.settings)
        }
        return Finding(
            verdict=Evaluation.Verdict.NOT_APPLICABLE,
            reason=HOW_NOT_WHETHER,
            details={FOUND: found, SIDE: ""},
        )


class FailureJudgeEvaluator(WholeRunEvaluator[FailureJudge]):
    """`failure-judge`: asks a model once what went wrong in a run."""

    name: ClassVar[str] = "failure-judge"
    kind: ClassVar[EvaluatorVersion.Kind] = EvaluatorVersion.Kind.MODES
    judge_type: ClassVar[type[FailureJudge]] = FailureJudge

    def found(self, run: Run, trajectory: Trajectory, shown: Mapping[str, object]) -> Finding:
        found = self.judge.judge(trajectory)
        if found.modes is None:
            return finding_of(found.judged, more=shown)
        modes = {
            mode.value: {"rationale": excerpt(judged.rationale), "steps": list(judged.steps)}
            for mode, judged in found.modes.items()
        }
        return replace(
            finding_of(found.judged, more={**shown, FOUND: modes, SIDE: found.side or ""}),
            reason=HOW_NOT_WHETHER,
        )


MODE_EVALUATORS = (MechanicalFailureModes.name, FailureJudgeEvaluator.name)


def _run_seen(run: Run, steps: list[StepSeen]) -> RunSeen:
    kinds = (Event.Kind.LOOP, Event.Kind.FALSE_COMPLETION)
    events = run.events.filter(kind__in=kinds) if run.has_anomaly else None
    length = run.task.record.get("reference_length")
    return RunSeen(
        steps=steps,
        outcome=run.outcome,
        end_reason=run.end_reason,
        error_origin=run.error_origin,
        max_steps=run.max_steps,
        reference_length=length if isinstance(length, int) else None,
        anomalies=list(events.values_list("first_step", "last_step")) if events else [],
    )


def _steps_seen(run_ids: Sequence[UUID]) -> dict[UUID, list[StepSeen]]:
    """The steps of these runs as the detectors see them, in one query."""
    seen: dict[UUID, list[StepSeen]] = {}
    stored = (
        Step.objects.filter(run__among=run_ids)
        .order_by("run", "index")
        .values_list(
            *("run", "index", "action", "kind", "url", "error", "state", "screenshot"),
            "record__before__fingerprint",
        )
    )
    for run_id, index, action, kind, url, error, state, picture, fingerprint in stored:
        step = StepSeen(
            index=index,
            action=action,
            kind=kind,
            page=_page(kind, fingerprint, picture, url),
            error=error,
            counts=state == Step.State.LIVE,
        )
        seen.setdefault(run_id, []).append(step)
    return seen


def _page(kind: str, fingerprint: str | None, picture: str | None, url: str) -> str:
    """Equal for the same page in the same state: by fingerprint, else picture, else address.

    Scrolling changes what is seen and nothing else, so there the picture counts beside it.
    """
    known = fingerprint or picture or url
    return f"{known} {picture}" if kind == ActionKind.SCROLL else known
