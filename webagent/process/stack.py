"""Room for the frames of Python calls.

CPython 3.11 to 3.13 keep frames in chunks of 16 KB and ask the system for memory at each call over
the edge of one, which can make a page take half as long again (python/cpython#142183). A frame too
large for such a chunk gets one of twice its size or more, which all calls below it share.
"""

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

SLOTS = 32_768
"""A frame of so many gets a chunk of 512 KB, and leaves half of it to the calls below: thousands.

What is not used of it takes no memory.
"""


def in_one_chunk(function: Callable[P, R]) -> Callable[P, R]:
    """The function, whose own calls do not cross the edge of a chunk."""

    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        return function(*args, **kwargs)

    call.__code__ = call.__code__.replace(co_stacksize=SLOTS)
    return wraps(function)(call)
