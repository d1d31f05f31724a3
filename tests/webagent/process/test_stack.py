import resource

import pytest

from webagent.process.stack import in_one_chunk

CALLS = 500
DEPTHS = 300
"""Frames of so many calls fill more than one chunk of CPython's."""


def _call(deeper: int) -> None:
    if deeper:
        _call(deeper - 1)


def _memory_asked_for(depth: int) -> int:
    """Pages that the system hands out while functions are called again and again at this depth."""
    if depth:
        return _memory_asked_for(depth - 1)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(CALLS):
        _call(2)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before


def test_repeated_calls_need_no_memory_at_any_depth() -> None:
    most = in_one_chunk(lambda: max(_memory_asked_for(depth) for depth in range(DEPTHS)))
    assert most() < CALLS / 2


def test_it_gives_and_raises_what_the_function_does() -> None:
    assert in_one_chunk(divmod)(7, 2) == (3, 1)
    with pytest.raises(ZeroDivisionError):
        in_one_chunk(divmod)(7, 0)
