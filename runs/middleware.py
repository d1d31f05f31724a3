"""Small rules that hold for every request."""

from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import resolve_url

GetResponse = Callable[[HttpRequest], HttpResponse]


class FragmentLoginMiddleware:
    """Turns the redirect to the log-in page into one of the whole page for htmx requests.

    Without it a lost session would swap a log-in form into the middle of a page.
    """

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response
        self.login_url = resolve_url(settings.LOGIN_URL)

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        location = response.get("Location", "")
        if request.headers.get("HX-Request") and location.startswith(self.login_url):
            redirect = HttpResponse(status=401)
            redirect["HX-Redirect"] = self.login_url
            return redirect
        return response
