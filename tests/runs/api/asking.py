"""A caller of the API for tests."""

import json
from typing import Any

from django.test import Client

from runs.accounts.tokens import create_token
from runs.models import ApiToken, Scope, User


class Caller:
    """Asks in a person's name, with a token of these scopes (by default all)."""

    def __init__(self, user: User, *scopes: Scope, days: int = 1) -> None:
        self.token: ApiToken
        self.token, self.key = create_token(
            owner=user, name="test", scopes=scopes or list(Scope), days=days
        )
        self.client = Client(headers={"Authorization": f"Bearer {self.key}"})

    def get(self, path: str, **headers: str) -> Any:
        return self.client.get(f"/api/v1{path}", headers=headers)

    def post(self, path: str, body: Any = None, **headers: str) -> Any:
        """Header names with `_` for `-`."""
        return self.client.post(
            f"/api/v1{path}",
            body if isinstance(body, bytes) else json.dumps({} if body is None else body),
            content_type="application/json",
            headers={name.replace("_", "-"): value for name, value in headers.items()},
        )


def told(answer: Any, status: int) -> dict[str, Any]:
    """The problem that an answer of this status tells, in its one shape."""
    assert answer.status_code == status, answer.content
    assert answer["Content-Type"] == "application/problem+json"
    body: dict[str, Any] = answer.json()
    assert body.keys() == {"type", "title", "status", "detail", "errors"}
    assert body["status"] == status
    return body


def fields(answer: Any, status: int = 422) -> list[str]:
    """The fields that a problem names."""
    return [error["field"] for error in told(answer, status)["errors"]]
