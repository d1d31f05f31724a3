"""`manage.py flush`: Django's own, on a database whose log of acts cannot be deleted."""

from typing import Any

from django.core.management.commands import flush

from runs.models.immutability import install_guards, remove_guards


class Command(flush.Command):
    """Empties every table, the log of acts too: the one way in which acts go."""

    def handle(self, **options: Any) -> None:
        using = options["database"]
        remove_guards(using)
        try:
            super().handle(**options)
        finally:
            install_guards(using)
