"""The administration pages: accounts and groups only.

Runs and judgements are never registered here, because these pages know nothing of blinding.
Accounts are switched off, not deleted: the page that asks before deleting lists what belongs
to an account, labels included.
"""

from typing import TYPE_CHECKING

from django.contrib import admin
from django.contrib.auth.admin import UserAdmin
from django.http import HttpRequest

from runs.models import User

if TYPE_CHECKING:
    AccountAdminBase = UserAdmin[User]
else:
    AccountAdminBase = UserAdmin


@admin.register(User)
class AccountAdmin(AccountAdminBase):
    """Accounts with their roles (groups)."""

    list_display = ("username", "first_name", "last_name", "is_active", "is_staff")
    list_filter = ("is_active", "is_staff", "groups")

    def has_delete_permission(self, request: HttpRequest, obj: User | None = None) -> bool:
        """Never; see above."""
        return False
