"""The two sides of a hint: how abstract it is, and how near its source is to the task."""

from enum import StrEnum


class Level(StrEnum):
    """How far a hint is from the run that it was written from."""

    CONCRETE = "concrete"
    ABSTRACT = "abstract"
    INSIGHTS = "insights"


class Relatedness(StrEnum):
    """How near the source of a hint is to the task that gets it."""

    SAME_TASK = "same_task"
    """The very same: an upper bound, since what it tells is the solution."""
    SAME_SITE_HIGHEST = "same_site_highest"
    SAME_SITE_LOWEST = "same_site_lowest"
    OTHER_SITE_LOWEST = "other_site_lowest"
