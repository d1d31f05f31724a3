"""Django's administration site, made to answer malformed input with a page instead of an error."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.contrib.admin import AdminSite
from django.contrib.admin.apps import AdminConfig
from django.core.exceptions import BadRequest, ValidationError
from django.db import DataError, transaction
from django.http import HttpRequest, HttpResponseBase
from django.template.response import SimpleTemplateResponse

MALFORMED = (ValueError, OverflowError, ValidationError, DataError)
"""What fields and databases raise for values that they cannot hold."""

UNUSED = {"view_on_site", "autocomplete"}
"""The redirect to any object's own page, and the search behind fields that no form here has."""

View = Callable[..., HttpResponseBase]


class AdministrationConfig(AdminConfig):
    default_site = "runs.accounts.administration.Administration"


class Administration(AdminSite):
    """Answers 400 to values that no row can have, and changes nothing then.

    Django checks keys and choices by asking the database for them, which some values break.
    """

    def get_urls(self) -> list[Any]:
        """Without what no page here leads to."""
        return [one for one in super().get_urls() if getattr(one, "name", "") not in UNUSED]

    def admin_view(self, view: Any, cacheable: bool = False) -> Any:
        return super().admin_view(_malformed_is_bad_request(view), cacheable)


def _malformed_is_bad_request(view: View) -> View:
    @wraps(view)
    def wrapped(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        try:
            with transaction.atomic():
                response = view(request, *args, **kwargs)
                if isinstance(response, SimpleTemplateResponse):
                    response.render()  # pages ask the database for choices only now
                return response
        except MALFORMED as error:
            raise BadRequest("the request holds a value that cannot be read") from error

    return wrapped
