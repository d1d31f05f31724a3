"""Why a word of a pushed run is refused, as the API tells it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from runs.api.problems import Problem, invalid
from runs.imports.pushing.services import RunEndedError, StepRefusedError
from webagent.trajectory.pushed.cleaning import PushError

ENDED = "The run has ended and takes nothing more; read it to see how."


@contextmanager
def refusals(root: str, *, ends: bool = False) -> Iterator[None]:
    """Turn the service's refusals into problems; `root` stands before the names of fields.

    Args:
        ends: whether the word was the end, which only another end can contradict.
    """
    try:
        yield
    except PushError as error:
        raise invalid((".".join(filter(None, (root, error.field))), str(error))) from None
    except StepRefusedError as error:
        raise Problem(
            409, str(error), kind="step-refused", errors=[("next_step", str(error.next_step))]
        ) from None
    except RunEndedError:
        status = 409 if ends else 410
        raise Problem(status, ENDED, kind="run-ended") from None
