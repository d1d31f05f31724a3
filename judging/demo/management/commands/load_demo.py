"""Load the demo study, with accounts whose passwords everybody knows."""

from typing import Any

from django.conf import settings
from django.contrib.auth.hashers import UNUSABLE_PASSWORD_PREFIX
from django.core.management.base import BaseCommand, CommandError, CommandParser
from rich.console import Console
from rich.progress import Progress

from judging.demo import DemoError
from judging.demo.services import (
    ACCOUNTS,
    SHIPPED,
    demo_password,
    is_loaded,
    load_demo,
    make_accounts,
    n_shipped,
)
from judging.models import Study
from runs.models import Run, User


class Command(BaseCommand):
    help = "Load the demo: recorded runs, a study, four accounts. Not in production."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--if-empty",
            action="store_true",
            help="only where nothing is; where nobody can log in, the accounts",
        )

    def handle(self, *args: Any, if_empty: bool, **options: Any) -> None:
        if not settings.ALLOWS_DEMO:
            raise CommandError(
                "The demo's passwords are public: it is only for an installation of one's own."
            )
        if not is_loaded():
            if not if_empty or not _is_in_use():
                self._load()
            elif _somebody_can_log_in():
                return
            else:
                make_accounts()
        self._print_accounts()

    def _load(self) -> None:
        with Progress(console=Console(stderr=True)) as progress:
            bar = progress.add_task("Loading the demo", total=n_shipped())
            try:
                load_demo(on_run=lambda number: progress.update(bar, completed=number))
            except DemoError as error:
                raise CommandError(f"The demo cannot be loaded: {error}") from None

    def _print_accounts(self) -> None:
        self.stdout.write("Demo accounts:")
        for name, role in ACCOUNTS.items():
            self.stdout.write(f"  {name:<12} password {demo_password(name):<18} ({role.value})")


def _is_in_use() -> bool:
    """Whether somebody has begun work of their own here."""
    mine = Run.objects.exclude(experiment__name__in=SHIPPED)
    return Study.objects.exists() or mine.exists()


def _somebody_can_log_in() -> bool:
    """Whether there is an account; whoever an import named has none."""
    people = User.objects.filter(is_active=True)
    return people.exclude(password__startswith=UNUSABLE_PASSWORD_PREFIX).exists()
