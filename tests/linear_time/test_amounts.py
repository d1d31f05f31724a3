"""No amount of money takes more room written out than it was given: `1e-99999999` is refused."""

from decimal import Decimal
from functools import cache
from typing import Annotated, Any, get_args

import pytest
from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo

from tests.linear_time.sources import modules


def _types(annotation: Any) -> set[Any]:
    """All that an annotation is made of."""
    return {annotation}.union(*(_types(part) for part in get_args(annotation)))


# Written by an operator, in the file that names the models.
OF_OPERATORS = {"ModelEntry", "Prices"}


def _adapter(field: FieldInfo) -> TypeAdapter[Any]:
    """What takes a value of this field alone."""
    annotated: Any = Annotated[field.annotation, *field.metadata, None]
    return TypeAdapter(annotated)


@cache
def _fields() -> dict[str, TypeAdapter[Any]]:
    return {
        f"{model.__name__}.{name}": _adapter(field)
        for module in modules()
        for model in vars(module).values()
        if isinstance(model, type) and issubclass(model, BaseModel)
        if model.__name__ not in OF_OPERATORS
        for name, field in model.model_fields.items()
        if Decimal in _types(field.annotation)
    }


def _is_short(adapter: TypeAdapter[Any], written: str) -> bool:
    try:
        amount = adapter.validate_python(written)
    except ValidationError:
        return True
    return len(format(amount, "f")) < 200


@pytest.mark.parametrize("written", ["1e-99999999", "0e-99999999", "1e99999999", "0e99999999"])
def test_an_amount_is_short_when_it_is_written_out(written):
    assert not [name for name, adapter in _fields().items() if not _is_short(adapter, written)]


def test_amounts_are_found():
    assert {
        "Totals.cost",
        "EvaluationRecord.cost",
        "PushedStep.cost",
        "EvaluationLine.cost",
    } <= _fields().keys()
