"""Revokes a token of the API."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from runs.accounts.tokens import revoke_token
from runs.models import ApiToken
from runs.models.people import PREFIX_CHARS


class Command(BaseCommand):
    """Finds the token by the beginning of its key, or by the whole key."""

    help = "Revoke the API token whose key begins so."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("prefix", help=f"the first {PREFIX_CHARS} characters of the key")

    def handle(self, *args: Any, **options: Any) -> None:
        token = ApiToken.objects.filter(prefix=options["prefix"][:PREFIX_CHARS]).first()
        if token is None:
            raise CommandError("There is no token whose key begins like that.")
        if not revoke_token(token=token):
            self.stdout.write(f"{token.name} was revoked already.")
            return
        self.stdout.write(f"{token.name} is revoked.")
