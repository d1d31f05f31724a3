"""Pages for what went wrong: what happened, and what to do."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """404, also for what exists but may not be seen."""
    return render(request, "errors/404.html", status=404)


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    """403: the account's role does not allow this."""
    return render(request, "errors/403.html", status=403)


def server_error(request: HttpRequest) -> HttpResponse:
    """500, without touching the database."""
    return render(request, "errors/500.html", status=500)


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """403 after a lost or stale form token."""
    return render(request, "errors/csrf.html", status=403)
