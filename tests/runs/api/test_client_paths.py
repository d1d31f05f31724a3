"""Whatever the client in one file asks for is an address of the API."""

from pathlib import Path
from typing import Any
from unittest.mock import patch
from uuid import uuid4

import pytest
from django.urls import resolve

from webagent.client import Client

ID = str(uuid4())
CALLS: dict[str, tuple[Any, ...]] = {
    "runs": (),
    "run": (ID,),
    "steps": (ID,),
    "studies": (),
    "verdicts": (1,),
    "evaluations": (1,),
    "matrices": (1,),
    "launch_reruns": ([ID],),
    "reruns": (ID,),
    "launch_evaluation": ("strict",),
    "evaluation": (ID,),
    "open_run": ({},),
    "push_step": (ID, 0, {}),
    "heartbeat": (ID,),
    "end_run": (ID, {}),
    "push_state": (ID,),
}
NO_ADDRESS_OF_THEIR_OWN = {"ask", "pages", "import_archive"}


def test_every_method_is_looked_at() -> None:
    methods = {name for name in vars(Client) if not name.startswith("_")}
    assert methods == set(CALLS) | NO_ADDRESS_OF_THEIR_OWN


@pytest.mark.parametrize("name", CALLS)
def test_it_asks_for_what_there_is(name: str) -> None:
    page: dict[str, Any] = {"items": [], "next": None}
    with patch.object(Client, "ask", return_value=page) as ask:
        answer = getattr(Client("http://x.test", "key"), name)(*CALLS[name])
        list(answer)
    method, path = ask.call_args.args[:2]
    found = resolve(f"/api/v1{path}")
    assert found.url_name != "nowhere"
    assert method in ("GET", "POST", "PUT")


def test_an_archive_is_sent_and_waited_for(tmp_path: Path) -> None:
    (tmp_path / "runs.zip").write_bytes(b"zip")
    jobs = [{"id": ID, "state": "queued"}, {"id": ID, "state": "finished"}]
    with patch.object(Client, "ask", side_effect=jobs) as ask, patch("time.sleep"):
        job = Client("http://x.test", "key").import_archive(tmp_path / "runs.zip", wait_s=9)
    assert job["state"] == "finished"
    assert [resolve(f"/api/v1{call.args[1]}").url_name for call in ask.call_args_list] == [
        "import_runs",
        "read_import",
    ]
