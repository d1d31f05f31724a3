#!/usr/bin/env python
"""Crosscheck's command line: `manage.py help` lists what it can do."""

import gc
import os
import sys

from django.core.management import execute_from_command_line

from runs.accounts.actors import acting_as, of_command
from runs.operations.databases import migration_hint
from webagent.process.children import in_one_chunk

if __name__ == "__main__":
    # What modules make while they are imported stays: looking for garbage in it delays the start.
    gc.set_threshold(20_000)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webagent.settings.local")
    with acting_as(of_command(sys.argv)), migration_hint(sys.argv):
        in_one_chunk(execute_from_command_line)(sys.argv)
