"""Reading WebArena's `eval` object: what it lacks or has wrong becomes an error with words."""

from __future__ import annotations

from collections.abc import Mapping

ALTERNATIVES = " |OR| "
"""Separates alternative references; the blanks and the capitals are part of it."""


class SpecificationError(ValueError):
    """The evaluation specification or the answer is such that no verdict can be given."""


def member(container: Mapping[str, object], key: str) -> object:
    """The value under `key`. Raises SpecificationError where the key is missing."""
    if key not in container:
        raise SpecificationError(f"{key} is missing")
    return container[key]


def mapping(value: object, name: str) -> Mapping[str, object]:
    """`value` as a JSON object. Raises SpecificationError for anything else."""
    if not isinstance(value, Mapping):
        raise SpecificationError(f"{name} is not an object")
    return value


def array(value: object, name: str) -> list[object]:
    """`value` as a JSON array. Raises SpecificationError for anything else."""
    if not isinstance(value, list):
        raise SpecificationError(f"{name} is not a list")
    return value


def text(value: object, name: str) -> str:
    """`value` as a string. Raises SpecificationError for anything else."""
    if not isinstance(value, str):
        raise SpecificationError(f"{name} is not a string")
    return value


def evaluation_types(evaluation: Mapping[str, object]) -> list[str]:
    """Names of the evaluators that a specification asks for, in order, each one known.

    Raises SpecificationError as the published router does: before anything is compared.
    """
    names = [str(name) for name in array(member(evaluation, "eval_types"), "eval_types")]
    for name in names:
        if name not in ("string_match", "url_match", "program_html"):
            raise SpecificationError(f"eval_types names {name}, which is not supported")
    return names
