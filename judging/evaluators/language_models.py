"""The language models that judge: those of the deployment, and what is said where one is none."""

from __future__ import annotations

from django.conf import settings
from django.utils.translation import gettext as _

from runs.catalogue.agents import language_models
from runs.catalogue.agents.language_models import (
    ModelOffer,
    ModelUnavailableError,
    model_registry,
    offered_models,
)
from webagent.llm.registry import ModelEntry, is_stub

__all__ = [
    "ModelOffer",
    "ModelUnavailableError",
    "how_to_configure",
    "may_be_offered",
    "model_registry",
    "offered_models",
    "usable_entry",
]


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
    if settings.ENV.MODELS_FILE is None:
        raise ModelUnavailableError(how_to_configure())
    return language_models.usable_entry(name)


def may_be_offered(model: str) -> bool:
    """Whether a model that a stored version asks can be there: all but stubs not described here."""
    if not is_stub(model):
        return True
    try:
        return model in model_registry().entries
    except ModelUnavailableError:
        return False


def how_to_configure() -> str:
    """What to do so that judges have a model to ask."""
    return _(
        "No language model is configured. Describe one in a file, set MODELS_FILE to "
        "that file and JUDGE_MODEL to the model, and restart."
    )
