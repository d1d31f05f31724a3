#!/usr/bin/env python
"""Crosscheck's command line: `manage.py help` lists what it can do."""

import os
import sys

from django.core.management import execute_from_command_line

from runs.accounts.actors import acting_as, of_command
from runs.operations.databases import migration_hint

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webagent.settings.local")
    with acting_as(of_command(sys.argv)), migration_hint(sys.argv):
        execute_from_command_line(sys.argv)
