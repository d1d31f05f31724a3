"""A database as large as a lab's whole history, made up from what real runs look like.

`python -m tools.seed_scale` fills it, so that pages can be measured at a million runs. Nothing in
it was recorded: steps and pictures are those of the shipped demo, drawn at random, and everything
that is counted (outcomes, lengths, verdicts, labels) is drawn from `shares`. What lies under the
task sets that begin with `TASK_SETS` is seeded, all else is somebody's.
"""

TASK_SETS = "seeded "
"""How the names of all seeded task sets, experiments and studies begin."""
PEOPLE = "seeded-"
"""How the names of all seeded accounts begin."""
