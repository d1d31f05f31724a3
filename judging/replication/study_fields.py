"""The fields that a study file is made of, and the error that names one."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

Key = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9_-]{0,49}$")]
Short = Annotated[str, StringConstraints(max_length=200)]
Name = Annotated[str, StringConstraints(min_length=1, max_length=120, strip_whitespace=True)]
Words = Annotated[str, StringConstraints(max_length=5000)]
Path = Annotated[str, StringConstraints(min_length=1, max_length=300)]
Whole = Annotated[int, Field(ge=1, le=1_000_000)]
Real = Annotated[float, Field(allow_inf_nan=False)]


class StudyFileError(ValueError):
    """The file is no study file. The words name the file, the field and the reason."""

    def __init__(self, file: str, field: str, reason: str) -> None:
        super().__init__(f"{file}, {field}: {reason}" if field else f"{file}: {reason}")
        self.file, self.field, self.reason = file, field, reason


class Part(BaseModel):
    """A table of the file. What it does not know is an error, lest a misspelt field be ignored."""

    model_config = ConfigDict(frozen=True, extra="forbid")


def shape(value: object) -> str:
    """Whether a value that may be either is a table, so that errors are of what was meant."""
    return "table" if isinstance(value, dict | BaseModel) else "plain"


def doubled_in(keys: list[str]) -> str | None:
    """The first key that stands there twice."""
    return next((key for place, key in enumerate(keys) if key in keys[:place]), None)
