"""What the lines of a log have in common: the request, task and run that they belong to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from types import MappingProxyType

Facts = Mapping[str, object]

_known: ContextVar[Facts] = ContextVar("log_context", default=MappingProxyType({}))  # noqa: B039


@contextmanager
def logged_with(**facts: object) -> Iterator[None]:
    """Every line of this thread meanwhile carries these facts beside those of blocks around it.

    A fact that is callable is asked when a line is written; None is left out. What is raised in
    the block carries the facts away as a note, for whoever logs it further out.
    """
    token = _known.set({**_known.get(), **facts})
    try:
        yield
    except Exception as error:
        error.add_note(" ".join(f"{name}={fact}" for name, fact in _told(facts).items()))
        raise
    finally:
        _known.reset(token)


def facts_now() -> dict[str, object]:
    """The facts of this moment."""
    return _told(_known.get())


def _told(facts: Facts) -> dict[str, object]:
    asked = {name: fact() if callable(fact) else fact for name, fact in facts.items()}
    return {name: fact for name, fact in asked.items() if fact is not None}
