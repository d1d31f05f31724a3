"""The language models of this deployment: those of its file, and which can be asked."""

from dataclasses import dataclass

from django.conf import settings
from django.utils.translation import gettext as _

from runs.interface.sentences import worded
from webagent.llm.interface import ModelFailure
from webagent.llm.registry import ModelEntry, Registry, RegistryError


class ModelUnavailableError(Exception):
    """A model cannot be asked here; the message says what to do about it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelOffer:
    """One model to choose from. `missing`: why it cannot be asked yet; empty if it can."""

    name: str
    entry: ModelEntry
    missing: str

    @property
    def has_price(self) -> bool:
        return self.entry.prices is not None


def model_registry() -> Registry:
    """The models of the file that the settings name; none where they name none.

    Raises:
        ModelUnavailableError: the file is wrong.
    """
    if settings.ENV.MODELS_FILE is None:
        return Registry()
    try:
        return Registry.read(settings.ENV.MODELS_FILE)
    except RegistryError as error:
        raise ModelUnavailableError(str(error)) from error


def offered_models() -> list[ModelOffer]:
    """Every model of the file, in its order.

    Raises:
        ModelUnavailableError: the file is wrong.
    """
    registry = model_registry()
    missing = registry.missing_keys()
    return [
        ModelOffer(
            name=name,
            entry=entry,
            missing=_("the environment variable %(name)s is not set") % {"name": missing[name]}
            if name in missing
            else "",
        )
        for name, entry in registry.entries.items()
    ]


def usable_models() -> tuple[list[ModelOffer], str]:
    """The models that can be asked; where there are none, why, and what to do."""
    try:
        offered = offered_models()
    except ModelUnavailableError as error:
        return [], str(error)
    usable = [offer for offer in offered if not offer.missing]
    missing = " ".join(f"{offer.name}: {offer.missing}." for offer in offered)
    return usable, "" if usable else missing or how_to_configure()


def how_to_configure() -> str:
    """What to do so that there is a model to ask."""
    return _(
        "No language model is configured. Describe one in a file, name the file in MODELS_FILE, "
        "and start again."
    )


def usable_entry(name: str) -> ModelEntry:
    """The model of that name, if it can be asked.

    Raises:
        ModelUnavailableError: there is no file, no such model in it, or no key for it.
    """
    if settings.ENV.MODELS_FILE is None:
        raise ModelUnavailableError(how_to_configure())
    registry = model_registry()
    try:
        entry = registry.entry(name)
    except ModelFailure as failure:
        raise ModelUnavailableError(worded(str(failure))) from failure
    if variable := registry.missing_keys().get(name):
        raise ModelUnavailableError(
            _("%(model)s cannot be asked: the environment variable %(name)s is not set.")
            % {"model": name, "name": variable}
        )
    return entry
