"""A model named `own-model`: it acts by rules, writes hints and notes what logs say.

It loses passwords of more than two characters until a hint says what to do about them.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from django.conf import settings

from judging.demo.recovery import CAREFUL, FORGETFUL, StubActor
from tests.judging.evaluating.asked_models import models_file
from tests.runs.knowledge.scribe import scribe
from tests.webagent.lever_model import INSIGHTS
from tests.webagent.llm.protocols import Asked
from tests.webagent.llm.stub import running_stub
from webagent.agents import registry as models
from webagent.llm.interface import Message, Request, TextPart

_ACTOR = StubActor()
AT_ONCE = "Type the second text right after the first."


@contextmanager
def own_model(folder: Path) -> Iterator[Path]:
    """It can be asked meanwhile; the file of models that names it."""
    with running_stub() as stub, pytest.MonkeyPatch.context() as patch:
        stub.reply = _reply
        file = models_file(folder, stub.openai_url)
        file.write_text(file.read_text().replace("stub-judge", "own-model"))
        patch.setattr(settings.ENV, "MODELS_FILE", file)
        yield file
        models._shared.client().close()


def _reply(asked: Asked) -> str:
    if "You train agents" in asked.system:
        if "insights" in asked.schema["properties"]:
            return json.dumps({"insights": INSIGHTS})
        action = AT_ONCE if "password" in asked.text else "Do what the goal says."
        step = {"action": action, "details": ["The task ends with it."]}
        return json.dumps({"steps": [step]})
    if asked.schema:
        return scribe(asked)
    message = Message(role="user", parts=(TextPart(text=asked.text),))
    loses = "password" in asked.text and AT_ONCE not in asked.system
    model = FORGETFUL if loses else CAREFUL
    return _ACTOR.complete(Request(model=model, messages=(message,))).text
