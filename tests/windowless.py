"""Chromium's build without windows: the same pages and actions for half the processor time.

Tests to whom any Chromium will do take it where it is installed. Those of environments, agents,
workers and faults drive the browser that reruns drive.
"""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from webagent.environment.browser import EXECUTABLE_VARIABLE


@contextmanager
def windowless() -> Iterator[None]:
    """What starts a browser meanwhile starts that build, unless another one is asked for."""
    shell = shutil.which("chromium-headless-shell")
    with pytest.MonkeyPatch.context() as patch:
        if shell and not os.environ.get(EXECUTABLE_VARIABLE):
            patch.setenv(EXECUTABLE_VARIABLE, shell)
        yield
