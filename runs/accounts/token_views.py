"""One's own tokens of the API: make, copy once, revoke."""

from typing import Any

from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST
from django.views.decorators.vary import vary_on_headers

from runs.accounts.token_forms import TokenForm
from runs.accounts.token_services import create_token, revoke_token
from runs.interface.fragments import AppRequest, wants_partial
from runs.models import ApiToken

MOST_SHOWN = 100


@require_http_methods(["GET", "HEAD", "POST"])
@vary_on_headers("HX-Request")
@never_cache
def token_list(request: AppRequest) -> HttpResponse:
    """The person's tokens; sent, the form makes one and shows its key this once."""
    form = TokenForm(request.POST if request.method == "POST" else None)
    if not form.is_valid():
        return _page(request, form=form, status=422 if form.is_bound else 200)
    made, key = create_token(owner=request.user, **form.cleaned_data)
    return _page(request, form=TokenForm(), made=made, key=key)


@require_POST
@vary_on_headers("HX-Request")
def token_revoke(request: AppRequest, pk: int) -> HttpResponse:
    """The token opens nothing any more."""
    revoke_token(token=get_object_or_404(ApiToken, pk=pk, owner=request.user))
    if wants_partial(request):
        return _page(request, form=TokenForm())
    return redirect("runs:token_list")


def _page(request: AppRequest, *, status: int = 200, **context: Any) -> HttpResponse:
    now = timezone.now()
    tokens = ApiToken.objects.filter(owner=request.user)[:MOST_SHOWN]
    rows = [{"token": token, "is_live": token.is_live(now)} for token in tokens]
    name = "_tokens" if wants_partial(request) else "token_list"
    return render(request, f"runs/accounts/{name}.html", {"rows": rows, **context}, status=status)
