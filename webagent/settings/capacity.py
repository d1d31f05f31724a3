"""How many browsers a machine bears."""

import os
from pathlib import Path

BYTES_PER_BROWSER = 1_500_000_000
"""A Chromium with a heavy page, the driver, and the Python process that steers it."""
LEFT_TO_OTHERS = 1_000_000_000

_LIMITS = (
    Path("/sys/fs/cgroup/memory.max"),
    Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
)


def browsers_that_fit() -> int:
    """As many as there are processors and memory for, container limits included; at least 1."""
    by_memory = (memory_bytes() - LEFT_TO_OTHERS) // BYTES_PER_BROWSER
    return max(1, min(len(_processors()), by_memory))


def memory_bytes() -> int:
    """The machine's memory, or what this container may use of it."""
    found = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    for path in _LIMITS:
        try:
            found.append(int(path.read_text()))
        except (OSError, ValueError):  # no such group, or "max"
            continue
    return min(found)


def _processors() -> range | set[int]:
    """Those that this process may use."""
    try:
        return os.sched_getaffinity(0)
    except AttributeError:  # not on this system
        return range(os.cpu_count() or 1)
