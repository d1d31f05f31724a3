"""`manage.py flush`: Django's own, on a database whose audit log cannot be deleted."""

from typing import Any

from django.core.management.commands import flush

from runs.models.triggers import install_guards, remove_guards


class Command(flush.Command):
    """Empties every table, the audit log too: the one way in which entries go."""

    def handle(self, **options: Any) -> None:
        using = options["database"]
        remove_guards(using)
        try:
            super().handle(**options)
        finally:
            install_guards(using)
