"""One's own API tokens: make one, copy it once, revoke it."""

import secrets
from collections.abc import Collection
from datetime import timedelta
from typing import Any

from django import forms
from django.db import transaction
from django.db.models.functions import Now
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST
from django.views.decorators.vary import vary_on_headers

from runs.accounts.audit_log import record_entry
from runs.interface.requests import AppRequest, wants_partial
from runs.models import ApiToken, Scope, User
from runs.models.audit_log import TOKEN_MADE, TOKEN_REVOKED
from runs.models.people import KEY_START, PREFIX_CHARS, SCOPE_NEEDS, digest_of

LIVES = [(n, format_lazy(_("{n} days"), n=n)) for n in (7, 30, 90, 365)]
USUAL_LIFE_DAYS = 90


class TokenForm(forms.Form):
    """What it is for, what it may be used for, and how long."""

    name = forms.CharField(label=_("name"), max_length=ApiToken._meta.get_field("name").max_length)
    scopes = forms.TypedMultipleChoiceField(
        label=_("Permissions"),
        choices=Scope.choices,
        coerce=Scope,
        initial=[Scope.RUNS_READ],
        widget=forms.CheckboxSelectMultiple,
        error_messages={"required": _("Choose at least one.")},
    )
    days = forms.TypedChoiceField(
        label=_("Expires after"), choices=LIVES, coerce=int, initial=USUAL_LIFE_DAYS
    )

    def __init__(self, *args: Any, user: User, **options: Any) -> None:
        super().__init__(*args, **options)
        useful = [scope for scope in Scope if user.has_perms(SCOPE_NEEDS[scope])]
        choices = [(scope.value, scope.label) for scope in useful]
        self.fields["scopes"].choices = choices  # type: ignore[attr-defined]  # a ChoiceField


LONGEST_LIFE_DAYS = 365
SECRET_BYTES = 32


@transaction.atomic
def create_token(
    *, owner: User, name: str, scopes: Collection[Scope], days: int
) -> tuple[ApiToken, str]:
    """A new token, and its key, which nobody can read again."""
    key = KEY_START + secrets.token_urlsafe(SECRET_BYTES)
    token = ApiToken.objects.create(
        owner=owner,
        name=name,
        prefix=key[:PREFIX_CHARS],
        digest=digest_of(key),
        scopes=[scope.value for scope in Scope if scope in scopes],
        expires_at=timezone.now() + timedelta(days=days),
    )
    record_entry(TOKEN_MADE, about=token, words=_words(token), after=", ".join(token.scopes))
    return token, key


@transaction.atomic
def revoke_token(*, token: ApiToken) -> bool:
    """Make the token open nothing from now on; False if it was revoked already."""
    revoked = ApiToken.objects.filter(pk=token.pk, revoked_at=None).update(revoked_at=Now())
    if revoked:
        record_entry(TOKEN_REVOKED, about=token, words=_words(token))
    return bool(revoked)


def _words(token: ApiToken) -> str:
    return f"{token.prefix}… {token.name} ({token.owner})"


MOST_SHOWN = 100


@require_http_methods(["GET", "HEAD", "POST"])
@vary_on_headers("HX-Request")
@never_cache
def token_list(request: AppRequest) -> HttpResponse:
    """The person's tokens; sent, the form makes one and shows its key this once."""
    form = TokenForm(request.POST if request.method == "POST" else None, user=request.user)
    if not form.is_valid():
        return _page(request, form=form, status=422 if form.is_bound else 200)
    made, key = create_token(owner=request.user, **form.cleaned_data)
    return _page(request, form=TokenForm(user=request.user), made=made, key=key)


@require_POST
@vary_on_headers("HX-Request")
def token_revoke(request: AppRequest, pk: int) -> HttpResponse:
    """The token opens nothing any more."""
    revoke_token(token=get_object_or_404(ApiToken, pk=pk, owner=request.user))
    if wants_partial(request):
        return _page(request, form=TokenForm(user=request.user))
    return redirect("runs:token_list")


def _page(request: AppRequest, *, status: int = 200, **context: Any) -> HttpResponse:
    now = timezone.now()
    tokens = ApiToken.objects.filter(owner=request.user)[:MOST_SHOWN]
    context["rows"] = [{"token": token, "is_live": token.is_live(now)} for token in tokens]
    return render(request, "runs/accounts/token_list.html", context, status=status)
