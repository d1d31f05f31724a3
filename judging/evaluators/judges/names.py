"""The names by which judges are chosen."""

SINGLE_STAGE = "single-stage-judge"
TWO_STAGE = "two-stage-judge"
