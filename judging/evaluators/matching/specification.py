"""Reading WebArena's `eval` object: what it lacks or has wrong becomes an error with words."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

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


NOT_ACHIEVABLE = "N/A"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """What a right answer says.

    Every item must hold, each by any one of its alternatives. `reason` instead of items: the
    task cannot be done, and this is why.
    """

    items: tuple[tuple[str, ...], ...] = ()
    reason: str | None = None

    @property
    def is_unachievable(self) -> bool:
        return self.reason is not None

    @property
    def text(self) -> str:
        """The reference in words: one item as it is, several of them numbered."""
        if self.reason is not None:
            return self.reason
        return _in_words(self.items[0]) if len(self.items) == 1 else self.numbered

    @property
    def numbered(self) -> str:
        """The items in words, each with its number."""
        return "\n".join(
            f"{number}. {_in_words(alternatives)}"
            for number, alternatives in enumerate(self.items, 1)
        )


def read_reference(evaluation: Mapping[str, object]) -> Reference | None:
    """The reference answer; None where the specification compares no answer, or with nothing.

    `exact_match`, the elements of `must_include` and those of a `fuzzy_match` list are items in
    their order; " |OR| " separates alternatives. `fuzzy_match` "N/A" gives `string_note` as the
    reason, and nothing else counts, as in the published evaluator.

    Raises:
        SpecificationError: it is not of the form it should have.
    """
    if "string_match" not in evaluation_types(evaluation):
        return None
    answers = mapping(member(evaluation, "reference_answers"), "reference_answers")
    if answers.get("fuzzy_match") == NOT_ACHIEVABLE:
        return Reference(reason=text(member(evaluation, "string_note"), "string_note"))
    items = tuple(
        tuple(item.split(ALTERNATIVES))
        for approach, value in answers.items()
        for item in _items(approach, value)
    )
    return Reference(items=items) if items else None


def other_parts(evaluation: Mapping[str, object]) -> list[str]:
    """What else the specification compares, which a judge of answers says nothing of."""
    return [kind for kind in evaluation_types(evaluation) if kind != "string_match"]


def _in_words(alternatives: Sequence[str]) -> str:
    return " — or: ".join(alternatives)


def _items(approach: str, value: object) -> list[str]:
    if approach == "exact_match":
        return [text(value, approach)]
    if approach in ("must_include", "fuzzy_match"):
        return [text(item, f"an element of {approach}") for item in array(value, approach)]
    return []
