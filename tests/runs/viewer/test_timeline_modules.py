"""The page names every module of its timeline, so that none waits for another to be read."""

import re
from pathlib import Path

from runs.viewer.timeline.timeline import MODULES

STATIC = Path(__file__).parents[3] / "static"


def imported(name: str, known: set[str]) -> set[str]:
    """The module and all that it imports, as paths below the folder of static files."""
    if name in known:
        return known
    known = known | {name}
    for other in re.findall(r'^import .* from "(.+)";$', (STATIC / name).read_text(), re.MULTILINE):
        path = (STATIC / name).parent / other
        known = imported(str(path.resolve().relative_to(STATIC.resolve())), known)
    return known


def test_modules_named_are_those_imported() -> None:
    assert set(MODULES) == imported("js/timeline.js", set())
