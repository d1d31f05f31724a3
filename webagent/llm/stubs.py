"""Telling stand-ins from models: by their names alone, so that imported verdicts are told too."""

from __future__ import annotations

PREFIX = "stub"


def is_stub(model: str) -> bool:
    """Whether whoever bears this model's name is a stand-in and no model."""
    return model.lower().startswith(PREFIX)
