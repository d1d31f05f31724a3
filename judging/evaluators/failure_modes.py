"""How stored runs failed: told mechanically when a run ends, and by a model where one is asked.

Neither says whether a run succeeded, so their verdict is always "not applicable"; what they found
stands in `details["failure_modes"]`, an object by mode, and `details["side"]`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from django.utils.translation import gettext_noop

from judging.evaluators.contract import Finding, without_outcome
from judging.evaluators.judged import finding_of
from judging.evaluators.shown_runs import trajectory_of
from judging.failure_modes.detecting import VERSION, DetectorSettings, RunSeen, StepSeen, detect
from judging.judges.estimates import tokens_of
from judging.judges.failures import FailureJudge, FailuresJudged
from judging.judges.settings import FailureSettings
from judging.matching.outcome import EvaluatorIdentity, excerpt
from judging.models import Evaluation, EvaluatorVersion
from runs.models import Event, Run, Step
from webagent.llm.interface import LanguageModel
from webagent.trajectory.actions import ActionKind

NO_STEPS = gettext_noop("the run has no steps")
HOW_NOT_WHETHER = gettext_noop("says how a run fails, not whether it does")
FOUND, SIDE = "failure_modes", "side"
"""Members of an evaluation's details."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MechanicalFailureModes:
    """`failure-modes-mechanical`: what the detectors find."""

    name: ClassVar[str] = "failure-modes-mechanical"
    settings: DetectorSettings = field(default_factory=DetectorSettings)

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
            config=self.settings.as_json(),
        )

    def applies_to(self, run: Run) -> bool:
        return True

    def evaluate(self, run: Run) -> Finding:
        found = {
            each.mode.value: {"rule": each.rule.value, "steps": list(each.steps)}
            for each in detect(run_seen(run), self.settings)
        }
        return Finding(
            verdict=Evaluation.Verdict.NOT_APPLICABLE,
            reason=HOW_NOT_WHETHER,
            details={FOUND: found, SIDE: ""},
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureJudgeEvaluator:
    """`failure-judge`: asks a model once what went wrong in a run."""

    name: ClassVar[str] = "failure-judge"
    version: ClassVar[str] = "1"

    language_model: LanguageModel
    settings: FailureSettings

    @classmethod
    def make(cls, *, language_model: LanguageModel, **config: object) -> FailureJudgeEvaluator:
        """The judge so configured. Raises ValueError for settings it does not know."""
        return cls(language_model=language_model, settings=FailureSettings.model_validate(config))

    @property
    def identity(self) -> EvaluatorIdentity:
        return EvaluatorIdentity(
            name=self.name,
            kind=EvaluatorVersion.Kind.MODES.value,
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
        found = self._judge().judge(trajectory)
        shown = {"pictures": [picture.step for picture in trajectory.pictures]}
        if found.modes is None:
            return finding_of(found.judged, more=shown)
        return _told(found, shown)

    def estimate(self, run: Run) -> tuple[int, int]:
        """Input tokens, roughly, and output tokens at most."""
        if without_outcome(run) is not None or not run.n_steps:
            return 0, 0
        return tokens_of(self._judge().requests(trajectory_of(run, self.settings)))

    def _judge(self) -> FailureJudge:
        return FailureJudge(language_model=self.language_model, settings=self.settings)


TELL_MODES = (MechanicalFailureModes.name, FailureJudgeEvaluator.name)


def run_seen(run: Run) -> RunSeen:
    """A stored run as the detectors see it, in two queries."""
    anomalies = (Event.Kind.LOOP, Event.Kind.FALSE_COMPLETION)
    events = run.events.filter(kind__in=anomalies) if run.has_anomaly else run.events.none()
    columns = ("index", "action", "kind", "url", "error", "state", "screenshot")
    rows = run.steps.order_by("index").values_list(*columns, "record__before__fingerprint")
    length = run.task.record.get("reference_length")
    return RunSeen(
        steps=[
            StepSeen(
                index=index,
                action=action,
                kind=kind,
                page=_page(kind, fingerprint, picture, url),
                error=error,
                counts=state == Step.State.LIVE,
            )
            for index, action, kind, url, error, state, picture, fingerprint in rows
        ],
        outcome=run.outcome,
        end_reason=run.end_reason,
        error_origin=run.error_origin,
        max_steps=run.max_steps,
        reference_length=length if isinstance(length, int) else None,
        anomalies=list(events.values_list("first_step", "last_step")),
    )


def _page(kind: str, fingerprint: str | None, picture: str | None, url: str) -> str:
    """Equal for the same page in the same state: by fingerprint, else picture, else address.

    Scrolling changes what is seen and nothing else, so there the picture counts beside it.
    """
    known = fingerprint or picture or url
    return f"{known} {picture}" if kind == ActionKind.SCROLL else known


def _told(found: FailuresJudged, shown: Mapping[str, object]) -> Finding:
    modes = {
        mode.value: {"rationale": excerpt(said.rationale), "steps": list(said.steps)}
        for mode, said in (found.modes or {}).items()
    }
    judged = finding_of(found.judged, more={**shown, FOUND: modes, SIDE: found.side or ""})
    return Finding(
        verdict=Evaluation.Verdict.NOT_APPLICABLE,
        reason=HOW_NOT_WHETHER,
        details=judged.details,
        rationale=judged.rationale,
        cost=judged.cost,
    )
