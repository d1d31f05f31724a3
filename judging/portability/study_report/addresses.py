"""Where the pages of a report lie, as links from one to another."""

from __future__ import annotations

FOLDER = "report"
INDEX = "index.html"


def run_page(number: int) -> str:
    """The page of the run with this number in the study."""
    return f"runs/{number:04d}.html"


def evaluator_page(number: int) -> str:
    """The page of the evaluator that is named as this one of the report."""
    return f"evaluators/{number:02d}.html"


def picture(sha256: str) -> str:
    """A picture, by its hash."""
    return f"pictures/{sha256[:20]}.webp"
