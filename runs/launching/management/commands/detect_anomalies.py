"""Look for loops and false completions in runs that are here already."""

from collections import Counter
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from runs.launching.anomalies import loop_of, mark_anomalies
from runs.models import Run
from webagent.measures import wilson_bounds
from webagent.recovery.anomalies import LONGEST_LOOP, SHORTEST_LOOP, LoopSettings

MOST_STEPS = 1000
"""Of a window, as in retry policies."""


class Command(BaseCommand):
    help = (
        "Mark loops and false completions of stored runs on the timeline, and say how many have "
        "loops where steps are compared by actions, and by actions and pages. Other windows are "
        "counted alone: marks stay those of the usual ones."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--experiment", help="only runs of this experiment")
        parser.add_argument(
            "--shortest", type=int, default=SHORTEST_LOOP, help="smallest window, in steps"
        )
        parser.add_argument(
            "--longest",
            type=int,
            default=LONGEST_LOOP,
            help="largest window, in steps; a block may have half as many",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        settings = _window(options["shortest"], options["longest"])
        runs = Run.objects.ended()
        if options["experiment"]:
            runs = runs.filter(experiment__name=options["experiment"])
        looked_at = marked = 0
        loops: Counter[int | None] = Counter()
        for run_id in runs.values_list("pk", flat=True).iterator():
            looked_at += 1
            if settings == LoopSettings():
                marked += bool(mark_anomalies(run_ids=[run_id]))
                loops[Run.objects.values_list("loop", flat=True).get(pk=run_id)] += 1
            else:
                loops[loop_of(run_id, settings)] += 1
        marks = f", {marked} with anomalies" if settings == LoopSettings() else ", nothing stored"
        self.stdout.write(f"{looked_at} runs looked at{marks}.")
        both = loops[Run.Loop.ACTIONS_AND_PAGE]
        window = f"windows of {settings.shortest} to {settings.longest} steps"
        self.stdout.write(f"With a loop ({window}, blocks of up to {settings.longest // 2}):")
        self.stdout.write(f"  by actions: {_rate(loops[Run.Loop.ACTIONS] + both, looked_at)}")
        self.stdout.write(f"  by actions and pages: {_rate(both, looked_at)}")


def _window(shortest: int, longest: int) -> LoopSettings:
    if longest > MOST_STEPS:
        raise CommandError(
            f"--longest {longest}: at most {MOST_STEPS}, for blocks of up to {MOST_STEPS // 2}."
        )
    try:
        return LoopSettings(shortest, longest)
    except ValueError as error:
        raise CommandError(str(error)) from None


def _rate(count: int, total: int) -> str:
    """`3 of 20 (15.0 %, 95 % interval 5.2 to 36.0 %)`."""
    if not total:
        return "0 of 0"
    low, high = (100 * end for end in wilson_bounds(count, total))
    share = 100 * count / total
    return f"{count} of {total} ({share:.1f} %, 95 % interval {low:.1f} to {high:.1f} %)"
