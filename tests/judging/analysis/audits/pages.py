"""Pages of audits as somebody sees them."""

from typing import Any

from django.test import Client
from django.urls import reverse

from judging.models import EvaluatorVersion


def open_page(client: Client, name: str, *args: Any, **headers: str) -> Any:
    return client.get(reverse(f"judging:{name}", args=args), headers=headers)


def pk(name: str) -> int:
    """The number of the evaluator of that name."""
    return EvaluatorVersion.objects.get(name=name).pk
