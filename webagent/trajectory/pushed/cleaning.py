"""What was sent, made such as may be kept: storable, bounded, without secrets."""

from __future__ import annotations

from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from webagent.field_errors import first_field_error
from webagent.trajectory.bounds import Bounds
from webagent.trajectory.redaction import Redactor
from webagent.trajectory.texts import storable_json

Sent = TypeVar("Sent", bound=BaseModel)


class PushError(ValueError):
    """Something that was sent cannot be kept; names the field."""

    def __init__(self, field: str, reason: str) -> None:
        super().__init__(reason)
        self.field = field


def cleaned(sent: Sent, redactor: Redactor, bounds: Bounds, *, exclude: Any = None) -> Sent:
    """The same without secrets and without what a database cannot hold; long texts are cut.

    Raises:
        PushError: it is nested too deeply.
    """
    words = sent.model_dump(mode="json", exclude=exclude)
    try:
        storable = storable_json(words, bounds.text_chars, bounds.json_depth)
        return type(sent).model_validate(redactor.json(storable))
    except ValidationError as error:
        raise PushError(*first_field_error(error)) from None
    except ValueError as error:
        raise PushError("", str(error)) from None
