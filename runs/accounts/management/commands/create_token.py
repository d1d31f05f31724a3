"""Makes a token of the API and prints its key."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from runs.accounts.tokens import LONGEST_LIFE_DAYS, create_token
from runs.models import Scope, User


class Command(BaseCommand):
    """Only the key goes to standard output, so that a script can keep it."""

    help = "Make an API token for a user and print its key, once."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("username")
        parser.add_argument("--name", default="made by command")
        parser.add_argument(
            "--scope",
            action="append",
            choices=Scope.values,
            dest="scopes",
            help="repeatable; default runs:read",
        )
        parser.add_argument("--days", type=int, default=30, help="until it expires")

    def handle(self, *args: Any, **options: Any) -> None:
        owner = User.objects.filter(username=options["username"], is_active=True).first()
        if owner is None:
            raise CommandError(f"There is no active account {options['username']!r}.")
        if not 1 <= options["days"] <= LONGEST_LIFE_DAYS:
            raise CommandError(f"--days must be 1 to {LONGEST_LIFE_DAYS}.")
        scopes = [Scope(name) for name in options["scopes"] or [Scope.RUNS_READ]]
        token, key = create_token(
            owner=owner, name=options["name"][:100], scopes=scopes, days=options["days"]
        )
        self.stdout.write(key)
        self.stderr.write(f"Revoke it by: manage.py revoke_token {token.prefix}")
