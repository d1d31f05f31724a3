"""Run the benchmarks (`make benchmarks`): medians and ratios, and at the end a table of goals.

Being slow fails nothing.

With names (`python -m tests.benchmarks stepping detecting`), only those.
"""

import gc
import os
import sys

os.environ["DJANGO_SETTINGS_MODULE"] = "webagent.settings.test"

import django
from django.core.management import call_command

gc.set_threshold(20_000)  # as in manage.py, whose processes serve what is measured here
django.setup()
call_command("migrate", verbosity=0)

from tests.benchmarks import (  # noqa: E402 (needs the database)
    audits,
    batches,
    browsers,
    detecting,
    exporting,
    goals,
    growing,
    importing,
    labels,
    matching,
    opening,
    pages,
    queueing,
    relating,
    rerunning,
    served,
    starting,
    stepping,
    vision,
    walk,
)

MODULES = (
    served,
    detecting,
    exporting,
    matching,
    relating,
    batches,
    importing,
    labels,
    queueing,
    pages,
    stepping,
    browsers,
    rerunning,
    vision,
    starting,
    opening,
    growing,
)
ASKED_FOR = {"audits": audits, "walk": walk}
"""Run only by their names: one judges a million times, the other needs a database that is full."""

if __name__ == "__main__":
    names = {module.__name__.rpartition(".")[2]: module for module in MODULES}
    for name in sys.argv[1:] or names:
        (names | ASKED_FOR)[name].run()
    goals.tell_all()
