"""Run every benchmark (`make benchmarks`): medians and ratios; being slow fails nothing."""

from __future__ import annotations

import os

os.environ["DJANGO_SETTINGS_MODULE"] = "webagent.settings.test"

import django
from django.core.management import call_command

django.setup()
call_command("migrate", verbosity=0)

from tests.benchmarks import (  # noqa: E402 (needs the database)
    batches,
    detecting,
    importing,
    matching,
    pages,
    relating,
)

for module in (detecting, matching, relating, batches, importing, pages):
    module.run()
