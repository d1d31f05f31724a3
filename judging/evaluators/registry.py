"""Which evaluators there are, and how one is made again from its stored configuration."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from django.conf import settings
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from judging.evaluators.answer_judges import JUDGES
from judging.evaluators.contract import Evaluator
from judging.evaluators.failure_modes import FailureJudgeEvaluator, MechanicalFailureModes
from judging.evaluators.matchers import RewardEvaluator, make_matcher
from judging.evaluators.matching.pipeline import NAMES
from judging.evaluators.milestones import MechanicalMilestones
from judging.evaluators.pipelines import PIPELINES
from judging.models import EvaluatorVersion
from runs.catalogue import language_models
from runs.catalogue.language_models import ModelUnavailableError, model_registry
from webagent.llm.interface import FailureKind, LanguageModel, ModelFailure, Reply, Request
from webagent.llm.registry import ModelEntry, is_stub


def usable_entry(name: str) -> ModelEntry:
    """The model of that name, if it can be asked.

    Raises:
        ModelUnavailableError: there is no file, no such model in it, or no key for it.
    """
    if is_stub(name) and name not in model_registry().entries:
        raise ModelUnavailableError(
            _(
                "%(model)s is a stub and cannot be asked again. Choose the evaluator with your "
                "own model."
            )
            % {"model": name}
        )
    return language_models.usable_entry(name)


def may_be_offered(model: str) -> bool:
    """Whether a model that a stored version asks can be there: all but stubs not described here."""
    if not is_stub(model):
        return True
    try:
        return model in model_registry().entries
    except ModelUnavailableError:
        return False


class UnknownEvaluatorError(LookupError):
    """No evaluator has this name, or not any more in this version."""


class NoModelConfiguredError(UnknownEvaluatorError):
    """The evaluator asks a language model, and none is chosen."""


class Unasked:
    """Stands where a language model belongs in evaluators that are only named, never run."""

    def complete(self, request: Request) -> Reply:
        """Raises ModelFailure, always."""
        raise ModelFailure(FailureKind.NOT_CONFIGURED, "no language model is asked here")


@dataclass(frozen=True, slots=True, kw_only=True)
class Registered:
    """How an evaluator is made, whether it is cheap enough to run at once when a run ends, and
    whether it asks a language model: then `make` also takes `language_model` and `model`.
    """

    make: Callable[..., Evaluator]
    immediate: bool = False
    asks_model: bool = False


REGISTRY: Mapping[str, Registered] = {
    RewardEvaluator.name: Registered(make=RewardEvaluator, immediate=True),
    **{name: Registered(make=partial(make_matcher, name)) for name in NAMES},
    MechanicalMilestones.name: Registered(make=MechanicalMilestones),
    MechanicalFailureModes.name: Registered(make=MechanicalFailureModes.make, immediate=True),
    **{name: Registered(make=make, asks_model=True) for name, make in JUDGES.items()},
    FailureJudgeEvaluator.name: Registered(make=FailureJudgeEvaluator.make, asks_model=True),
    **{name: Registered(make=make, asks_model=True) for name, make in PIPELINES.items()},
}


def evaluator_named(
    name: str, *, model: str | None = None, language_model: LanguageModel | None = None
) -> Evaluator:
    """The evaluator in its predefined configuration; `model` is JUDGE_MODEL unless given.

    Raises:
        UnknownEvaluatorError: naming those that there are, or how to configure a model.
    """
    if name not in REGISTRY:
        raise UnknownEvaluatorError(f"no evaluator is named {name}; there are {_names()}")
    entry = REGISTRY[name]
    if not entry.asks_model:
        return entry.make()
    model = model or settings.ENV.JUDGE_MODEL
    if not model:
        raise NoModelConfiguredError(
            f"{name} asks a language model: describe one in the file that MODELS_FILE names, "
            "and set JUDGE_MODEL to its name"
        )
    return entry.make(language_model=language_model or Unasked(), model=model)


def predefined_evaluators(*, immediate: bool | None = None) -> list[Evaluator]:
    """All evaluators that ask no model, predefined, or those that are immediate or not."""
    return [
        entry.make()
        for entry in REGISTRY.values()
        if not entry.asks_model and (immediate is None or entry.immediate is immediate)
    ]


def evaluator_of(
    version: EvaluatorVersion, *, language_model: LanguageModel | None = None
) -> Evaluator:
    """The very evaluator that a stored version names.

    Raises:
        UnknownEvaluatorError: it was imported, or the program has moved on from that version,
            so that what ran now would be another evaluator under the same name.
    """
    if version.name in REGISTRY:
        entry = REGISTRY[version.name]
        given = {"language_model": language_model or Unasked()} if entry.asks_model else {}
        try:
            evaluator = entry.make(**given, **version.config)
        except (TypeError, ValueError, KeyError):
            evaluator = None
        if evaluator is not None and evaluator.identity.config_hash == version.config_hash:
            return evaluator
    raise UnknownEvaluatorError(f"{version} cannot be run here; there are {_names()}")


def model_asked_by(evaluator: Evaluator) -> str:
    """The model that an evaluator asks; empty where it asks none."""
    identity = evaluator.identity
    return str(identity.config["model"]) if REGISTRY[identity.name].asks_model else ""


def _names() -> str:
    return ", ".join(REGISTRY)


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
