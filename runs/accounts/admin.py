"""The administration pages: accounts and groups only.

Runs and judgements are never registered here, because these pages know nothing of blinding.
Accounts are switched off, not deleted: the page that asks before deleting lists what belongs
to an account, labels included.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.contrib.auth.admin import GroupAdmin, UserAdmin
from django.contrib.auth.models import Group
from django.db.models import Model, QuerySet
from django.forms import BaseForm
from django.http import HttpRequest

from runs.accounts.audit_log import record_entry
from runs.models import User
from runs.models.audit_log import ACCOUNT_CHANGED, ACCOUNT_MADE, ROLE_CHANGED, AuditKind

if TYPE_CHECKING:
    AccountAdminBase = UserAdmin[User]
else:
    AccountAdminBase = UserAdmin

PASSWORDS = {"password", "password1", "password2", "usable_password"}


def record_form(kind: AuditKind, about: Model, form: BaseForm) -> None:
    """Write down what a form has changed, without passwords."""
    changed = [name for name in form.changed_data if name not in PASSWORDS]
    record_entry(
        kind,
        about=about,
        words=str(about),
        before="; ".join(f"{name}: {_words(form.initial.get(name))}" for name in changed),
        after="; ".join(f"{name}: {_words(form.cleaned_data.get(name))}" for name in changed),
    )


def _words(value: object) -> str:
    if isinstance(value, Iterable) and not isinstance(value, str):
        return ", ".join(sorted(str(one) for one in value))
    return str(value)


_LOOKUPS = ("__exact", "__id__exact", "__isnull")


def is_offered(lookup: str, filters: Iterable[object]) -> bool:
    """Whether a list's own filters ask this.

    Django allows every lookup of the model's fields, patterns that a database cannot read too.
    """
    return any(lookup == f"{name}{end}" for name in filters for end in _LOOKUPS)


@admin.register(User)
class AccountAdmin(AccountAdminBase):
    """Accounts with their roles (groups)."""

    def construct_change_message(
        self, request: HttpRequest, form: Any, formsets: Any, add: bool = False
    ) -> list[dict[str, dict[str, list[str]]]]:
        """Tells the audit log too; passwords are logged by `runs.accounts.log_in`."""
        if not PASSWORDS.issuperset(form.changed_data):
            record_form(ACCOUNT_MADE if add else ACCOUNT_CHANGED, form.instance, form)
        return super().construct_change_message(request, form, formsets, add)

    list_display = ("username", "first_name", "last_name", "is_active", "is_staff")
    list_filter = ("is_active", "is_staff", "groups")

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest) -> bool:
        return is_offered(lookup, self.list_filter)

    def has_delete_permission(self, request: HttpRequest, obj: User | None = None) -> bool:
        """Never; see above."""
        return False


admin.site.unregister(Group)


@admin.register(Group)
class RoleAdmin(GroupAdmin):
    """Roles and what they may do."""

    def construct_change_message(
        self, request: HttpRequest, form: Any, formsets: Any, add: bool = False
    ) -> list[dict[str, dict[str, list[str]]]]:
        """Also where the audit log hears of it."""
        record_form(ROLE_CHANGED, form.instance, form)
        return super().construct_change_message(request, form, formsets, add)

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest) -> bool:
        return is_offered(lookup, self.list_filter)

    def delete_model(self, request: HttpRequest, obj: Group) -> None:
        """Written down before it goes."""
        record_entry(ROLE_CHANGED, about=obj, words=obj.name, after="deleted")
        super().delete_model(request, obj)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Group]) -> None:
        """The same for those that are chosen in the list."""
        for role in queryset:
            record_entry(ROLE_CHANGED, about=role, words=role.name, after="deleted")
        super().delete_queryset(request, queryset)
