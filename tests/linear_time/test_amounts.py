"""No amount of money takes more room written out than it was given: `1e-99999999` is refused."""

from decimal import Decimal
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


FIELDS: dict[str, TypeAdapter[Any]] = {
    f"{model.__name__}.{name}": _adapter(field)
    for module in modules()
    for model in vars(module).values()
    if isinstance(model, type) and issubclass(model, BaseModel)
    if model.__name__ not in OF_OPERATORS
    for name, field in model.model_fields.items()
    if Decimal in _types(field.annotation)
}


@pytest.mark.parametrize("name", FIELDS)
@pytest.mark.parametrize("written", ["1e-99999999", "0e-99999999", "1e99999999", "0e99999999"])
def test_an_amount_is_short_when_it_is_written_out(name, written):
    try:
        amount = FIELDS[name].validate_python(written)
    except ValidationError:
        return
    assert len(format(amount, "f")) < 200


def test_amounts_are_found():
    assert {
        "Totals.cost",
        "EvaluationRecord.cost",
        "PushedStep.cost",
        "EvaluationLine.cost",
    } <= FIELDS.keys()
