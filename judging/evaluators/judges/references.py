"""The reference answer of a task, as its evaluation specification states it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from judging.evaluators.matching import specification as spec
from judging.evaluators.matching.strict import NOT_ACHIEVABLE


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
    if "string_match" not in spec.evaluation_types(evaluation):
        return None
    answers = spec.mapping(spec.member(evaluation, "reference_answers"), "reference_answers")
    if answers.get("fuzzy_match") == NOT_ACHIEVABLE:
        return Reference(reason=spec.text(spec.member(evaluation, "string_note"), "string_note"))
    items = tuple(
        tuple(item.split(spec.ALTERNATIVES))
        for approach, value in answers.items()
        for item in _items(approach, value)
    )
    return Reference(items=items) if items else None


def other_parts(evaluation: Mapping[str, object]) -> list[str]:
    """What else the specification compares, which a judge of answers says nothing of."""
    return [kind for kind in spec.evaluation_types(evaluation) if kind != "string_match"]


def _in_words(alternatives: Sequence[str]) -> str:
    return " — or: ".join(alternatives)


def _items(approach: str, value: object) -> list[str]:
    if approach == "exact_match":
        return [spec.text(value, approach)]
    if approach in ("must_include", "fuzzy_match"):
        return [
            spec.text(item, f"an element of {approach}") for item in spec.array(value, approach)
        ]
    return []
