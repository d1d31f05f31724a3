"""The reference pages of `docs/`, written from the code.

python scripts/reference.py
"""

from __future__ import annotations

import inspect
import os
import re
import sys
from argparse import Action
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import django
from django.core.management import get_commands, load_command_class
from django.core.management.base import CommandParser

if TYPE_CHECKING:
    from judging.portability.judgements.columns import DataColumn

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

APPS = ("runs", "judging")
UNITS = ((1024**3, "GiB"), (1024**2, "MiB"))

SETTINGS_HEAD = """\
# Settings

Written by `scripts/reference.py` from `webagent/settings/environment.py`.

Every setting is an environment variable. A wrong value stops the start with one line that names it.
Lists are separated by commas. [docker/env.example](../docker/env.example) has those of the
containers."""

# What other programs read, or what is read without the settings.
OTHER_VARIABLES = """\
## Other variables

| variable | meaning |
|---|---|
| `DJANGO_SETTINGS_MODULE` | `webagent.settings.local` (default of `manage.py`) or `webagent.settings.production` |
| `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY` | credentials of the bucket, unless the machine has a role |
| `CHROMIUM_SANDBOX` | `1` demands Chromium's sandbox, `0` turns it off; unset: on, except for root |
| the names in `api_key_env` of `MODELS_FILE` | keys of the providers |
| `CROSSCHECK_URL`, `CROSSCHECK_TOKEN` | server and API token of `webagent/client`, on the agent's machine |
"""  # noqa: E501

COMMANDS_HEAD = """\
# Commands

Written by `scripts/reference.py` from the commands and the Makefile.

Each is called as `python manage.py NAME`. Exit codes: 0 done, 1 not done, unless the text says
otherwise. [Make targets](#make-targets) are at the end.
"""

TABLES_HEAD = """\
# Columns of the tables

Written by `scripts/reference.py` from `judging/portability/judgements/columns.py`. Types and
access: [exporting.md](exporting.md#tables).
"""

RULES_HEAD = """\
# Rules of the repaired matcher

Written by `scripts/reference.py` from `judging/evaluators/matching/repaired/rules.py`. The matcher:
[matchers.md](matchers.md).
"""


def settings_page() -> str:
    """A table of settings for each heading of the class, then all other variables."""
    return "\n".join([SETTINGS_HEAD, *setting_tables(), OTHER_VARIABLES, *benchmark_table()])


def setting_tables() -> Iterator[str]:
    from webagent.settings.environment import Environment

    fields = Environment.model_fields
    for line in inspect.getsource(Environment).splitlines():
        if heading := re.fullmatch(r"    # (.+)", line):
            yield f"\n## {heading[1]}\n\n| setting | default | meaning |\n|---|---|---|"
        elif (name := re.match(r"    ([A-Z][A-Z0-9_]*):", line)) and name[1] in fields:
            field = fields[name[1]]
            meaning = " ".join((field.description or "").split())
            yield f"| `{name[1]}` | {default_in_words(name[1], field.default)} | {meaning} |"
        elif line.startswith("    @"):
            yield ""
            return


def default_in_words(name: str, default: object) -> str:
    if default is None or default in ([], {}):
        return "–"
    if isinstance(default, Path):
        return f"`{default.relative_to(ROOT)}/`"
    if isinstance(default, str):
        return f"`{default}`"
    number = int(str(default).removesuffix(".0"))
    if name.endswith("_BYTES"):
        size, unit = next((size, unit) for size, unit in UNITS if number % size == 0)
        return f"{number // size} {unit}"
    return str(number)


def benchmark_table() -> Iterator[str]:
    from webagent.environment.registry import SITE_BENCHMARKS

    yield "## Sites of benchmarks\n\n| package | variables that it reads |\n|---|---|"
    for benchmark in SITE_BENCHMARKS.values():
        names = ", ".join(f"`{name}`" for name in benchmark.read_variables)
        yield f"| `{benchmark.package}` | {names} |"
    yield ""


def commands_page() -> str:
    """Each command with its help and options, then the targets of make."""
    names = sorted(name for name, app in get_commands().items() if app.partition(".")[0] in APPS)
    return "\n".join([COMMANDS_HEAD, *map(command_section, names), *make_targets()])


class Recorder(CommandParser):
    """Notes every argument that a command adds, those of its groups too."""

    def __init__(self) -> None:
        self.added: list[Action] = []
        super().__init__(add_help=False)

    def add_argument(self, *names: Any, **options: Any) -> Action:
        action = super().add_argument(*names, **options)
        self.added.append(action)
        return action

    def add_mutually_exclusive_group(self, **options: Any) -> Any:
        return self


def command_section(name: str) -> str:
    command = load_command_class(get_commands()[name], name)
    recorder = Recorder()
    command.add_arguments(recorder)
    values = [value_of(each) for each in recorder.added if not each.option_strings]
    lines = [f"- `{name_of(each)}`{words_of(each)}" for each in recorder.added if is_telling(each)]
    return "\n".join([f"## {' '.join([name, *values])}", command.help, *lines, ""])


def is_telling(action: Action) -> bool:
    """Whether the heading does not say all of it."""
    return bool(action.option_strings or words_of(action))


def name_of(action: Action) -> str:
    joint = " " if action.nargs == "+" else "="
    return joint.join(filter(None, (*action.option_strings[-1:], value_of(action))))


def value_of(action: Action) -> str:
    """What stands for the value: `PATH...`; empty for a switch."""
    if action.nargs == 0:
        return ""
    name = str(action.metavar or (action.option_strings or [action.dest])[-1].strip("-").upper())
    return {"+": f"{name}...", "*": f"[{name}...]"}.get(str(action.nargs), name)


def words_of(action: Action) -> str:
    parts = ["required"] if action.option_strings and action.required else []
    parts += [action.help] if action.help else []
    parts += [", ".join(f"`{choice}`" for choice in action.choices)] if action.choices else []
    return ": " + "; ".join(parts) if parts else ""


def make_targets() -> Iterator[str]:
    """Every target of the Makefile that says after `##` what it is for."""
    yield "# Make targets\n"
    for line in (ROOT / "Makefile").read_text().splitlines():
        if target := re.fullmatch(r"([a-z-]+):.*## (.+)", line):
            yield f"- `make {target[1]}`: {target[2]}"
    yield ""


def tables_page() -> str:
    """The columns of each table of data, those that all share first."""
    from judging.portability.judgements.columns import RUN
    from judging.portability.judgements.data_tables import DATA_TABLES

    lines = [TABLES_HEAD, "## All but matrices and figures", *column_lines(RUN)]
    for table in DATA_TABLES.values():
        own = [column for column in table.columns if column not in RUN]
        lines += ["", f"## {table.name}", *column_lines(own)]
    return "\n".join([*lines, ""])


def column_lines(columns: Iterable[DataColumn]) -> Iterator[str]:
    return (f"- `{each.name}` ({each.type}): {each.meaning}" for each in columns)


def rules_page() -> str:
    """What each rule of the repaired matcher does."""
    from judging.evaluators.matching.repaired.rules import DESCRIPTIONS

    lines = [f"- `{rule}`: {description}" for rule, description in DESCRIPTIONS.items()]
    return "\n".join([RULES_HEAD, *lines, ""])


PAGES = {
    "reference_settings.md": settings_page,
    "reference_commands.md": commands_page,
    "reference_tables.md": tables_page,
    "reference_rules.md": rules_page,
}


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webagent.settings.test")
    django.setup()
    for name, page in PAGES.items():
        (ROOT / "docs" / name).write_text(page())
