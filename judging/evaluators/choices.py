"""Evaluators to choose from: those that come predefined, and saved versions that run here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from judging.evaluators.contract import Evaluator
from judging.evaluators.language_models import may_be_offered
from judging.evaluators.registry import (
    REGISTRY,
    UnknownEvaluatorError,
    evaluator_named,
    evaluator_of,
    model_asked_by,
)
from judging.models import EvaluatorVersion

_MEANINGS: Mapping[str, Promise] = {
    "imported-reward": gettext_lazy("what the benchmark said"),
    "webarena-strict": gettext_lazy("the published matcher"),
    "webarena-repaired": gettext_lazy("the matcher with named repairs"),
    "two-stage-judge": gettext_lazy("same meaning, else key information"),
    "single-stage-judge": gettext_lazy("the published judge"),
    "trajectory-judge": gettext_lazy("actions and pictures, no reference answer needed"),
    "milestones-mechanical": gettext_lazy("how far a run got, by the checks of its milestones"),
    "milestones-judge": gettext_lazy("how far a run got: all milestones of its task at once"),
    "failure-modes-mechanical": gettext_lazy("how a run failed, by fixed rules"),
    "failure-judge": gettext_lazy("how a run failed: plan, misreading and the like"),
    "before": gettext_lazy("published matcher, then published judge, on the tasks as recorded"),
    "after": gettext_lazy("repaired matcher, then two-stage judge, on the patched tasks"),
}
"""What evaluators do, in a few words, where their name does not say it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluatorChoice:
    """One evaluator to choose. `model`: the one that a saved version asks."""

    key: str
    words: str
    asks_chosen: bool
    """It asks whatever model is chosen beside it."""
    model: str
    make: Callable[[str | None], Evaluator]

    @property
    def asks(self) -> bool:
        return self.asks_chosen or bool(self.model)


def evaluator_choices() -> list[EvaluatorChoice]:
    """All that can be run here, predefined ones first."""
    return [*map(_predefined, REGISTRY), *_saved()]


def _predefined(name: str) -> EvaluatorChoice:
    meaning = _MEANINGS.get(name)
    return EvaluatorChoice(
        key=name,
        words=f"{name} — {meaning}" if meaning else name,
        asks_chosen=REGISTRY[name].asks_model,
        model="",
        make=lambda model: evaluator_named(name, model=model),
    )


def _saved() -> list[EvaluatorChoice]:
    """Stored versions other than the predefined ones, as far as they can be run here."""
    choices = []
    for version in EvaluatorVersion.objects.filter(name__in=list(REGISTRY)):
        try:
            evaluator = evaluator_of(version)
        except UnknownEvaluatorError:
            continue
        model = model_asked_by(evaluator)
        if not may_be_offered(model):
            continue
        predefined = evaluator_named(version.name, model=model or None)
        if predefined.identity.config_hash == version.config_hash:
            continue
        saved = {"version": version, "date": f"{version.created_at:%Y-%m-%d}"}
        choices.append(
            EvaluatorChoice(
                key=f"version-{version.pk}",
                words=_("%(version)s, saved %(date)s") % saved,
                asks_chosen=False,
                model=model,
                make=partial(_as_saved, evaluator),
            )
        )
    return choices


def _as_saved(evaluator: Evaluator, _model: str | None) -> Evaluator:
    return evaluator
