"""Pages of audits as somebody sees them."""

from __future__ import annotations

from typing import Any

from django.test import Client
from django.urls import reverse


def open_page(client: Client, name: str, *args: Any, **headers: str) -> Any:
    return client.get(reverse(f"judging:{name}", args=args), headers=headers)


def logged_in(user: Any) -> Client:
    client = Client()
    client.force_login(user)
    return client
