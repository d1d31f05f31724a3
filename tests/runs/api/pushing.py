"""A pusher for tests: it speaks the API as any program would."""

import base64
import json
from typing import Any

from django.test import Client

from runs.accounts.tokens import create_token
from runs.models import Run, Scope, User
from tests.webagent.trajectory.samples import png


class Pusher:
    """Pushes runs in a person's name."""

    def __init__(self, user: User, *scopes: Scope) -> None:
        _row, key = create_token(
            owner=user,
            name="pusher",
            scopes=list(scopes) or [Scope.RUNS_WRITE, Scope.RUNS_READ],
            days=1,
        )
        self.headers = {"Authorization": f"Bearer {key}"}
        self.client = Client(headers=self.headers)

    def send(self, method: str, path: str, body: Any = None, **headers: str) -> Any:
        return self.client.generic(
            method,
            f"/api/v1{path}",
            json.dumps(body) if body is not None else "",
            content_type="application/json",
            headers=headers,
        )

    def open(self, **changes: Any) -> Run:
        answer = self.send("POST", "/runs", opening(**changes))
        assert answer.status_code == 201, answer.content
        return Run.objects.get(pk=answer.json()["id"])

    def step(self, run: Run, index: int, **changes: Any) -> Any:
        return self.send("PUT", f"/runs/{run.pk}/steps/{index}", step(index, **changes))

    def end(self, run: Run, **ending: Any) -> Any:
        given = {"outcome": "success", "end_reason": "task_ended", "reward": 1.0, **ending}
        return self.send("PUT", f"/runs/{run.pk}/end", given)


def opening(**changes: Any) -> dict[str, Any]:
    """The head of a run."""
    head = {"task": {"goal": "Buy a hose."}, "agent": {"name": "walker", "version": "2"}}
    return head | {"models": ["model-x"], "experiment": "pushed"} | changes


def step(index: int, **changes: Any) -> dict[str, Any]:
    """A step that clicks a button of the page that it saw."""
    picture = base64.b64encode(png(shade=index)).decode()
    seen = {
        "url": f"http://shop.test/{index}",
        "title": f"Page {index}",
        "axtree": f"RootWebArea 'Page {index}'\n\t[a{index}] button 'Next'",
        "screenshot": picture,
        "boxes": {f"a{index}": [10, 20, 60, 30]},
    }
    return {
        "observation": seen,
        "thought": f"Thought {index}.",
        "action": f"click('a{index}')",
        "input_tokens": 100,
        "output_tokens": 10,
        "cost": "0.001",
        "seconds": 0.5,
    } | changes
