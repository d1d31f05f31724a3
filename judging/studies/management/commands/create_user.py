"""`manage.py create_user NAME --role ROLE`"""

import os
import secrets
import sys
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser

from judging.studies.access import Role, create_user


class Command(BaseCommand):
    help = "Make an account with a role. Prints a generated password, once, unless one is given."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name")
        parser.add_argument("--role", required=True, choices=[str(role) for role in Role])
        given = parser.add_mutually_exclusive_group()
        given.add_argument(
            "--password-stdin", action="store_true", help="read it from standard input"
        )
        given.add_argument("--password-env", metavar="VARIABLE", help="read it from a variable")

    def handle(self, *args: Any, **options: Any) -> None:
        given = self._given_password(options)
        password = secrets.token_urlsafe(12) if given is None else given
        role = Role(options["role"])
        try:
            user = create_user(name=options["name"], role=role, password=password)
        except ValidationError as error:
            raise CommandError(" ".join(error.messages)) from None
        self.stdout.write(f"{user.username} is {role}.")
        if given is None:
            self.stdout.write(f"Password, shown only now: {password}")

    def _given_password(self, options: dict[str, Any]) -> str | None:
        if options["password_stdin"]:
            return sys.stdin.readline().rstrip("\r\n")
        variable = options["password_env"]
        if variable is None:
            return None
        if variable not in os.environ:
            raise CommandError(f"The variable {variable} is not set.")
        return os.environ[variable]
