"""A model that names the pictures on a screen, its calls kept with the step they were asked at."""

from __future__ import annotations

from dataclasses import replace

from webagent.agents.generic.asking import Questions
from webagent.llm.interface import LanguageModel, Reply, Request
from webagent.llm.registry import ModelEntry
from webagent.trajectory.live import Decision
from webagent.vision.captions import Captioner, ModelCaptioner


class Captions:
    """The captioner of one agent; the same picture is asked about once."""

    def __init__(self, model: LanguageModel, entry: ModelEntry) -> None:
        self._model = model
        self._entry = entry
        self._questions = Questions(model, entry)
        self.captioner: Captioner = ModelCaptioner(self, entry.name)

    def complete(self, request: Request) -> Reply:
        """The reply, noted.

        Raises:
            ModelFailure: there is none; that is noted too.
        """
        return self._questions.ask(request)

    def told(self, decision: Decision) -> Decision:
        """The decision with what was asked for captions since the one before."""
        asked, self._questions = self._questions, Questions(self._model, self._entry)
        calls = (*asked.calls, *decision.llm_calls)
        return replace(decision, llm_calls=calls, blobs={**asked.blobs, **decision.blobs})
