"""One step's questions to a model, each kept with its whole prompt, its reply and what it cost."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable
from decimal import Decimal

from webagent.llm.interface import LanguageModel, ModelFailure, Reply, Request, TextPart, Usage
from webagent.llm.prices import cost_of
from webagent.llm.registry import ModelEntry
from webagent.trajectory.records import BlobRecord, Json, LlmCall

JSON_TYPE = "application/json"


class Questions:
    """Asks, and remembers: `calls` and `blobs` are for the decision that comes of it."""

    def __init__(
        self,
        model: LanguageModel,
        entry: ModelEntry,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._model = model
        self._entry = entry
        self._clock = clock
        self.calls: list[LlmCall] = []
        self.blobs: dict[str, bytes] = {}

    def ask(self, request: Request) -> Reply:
        """The reply.

        Raises:
            ModelFailure: there is none; it is kept all the same.
        """
        begun = self._clock()
        try:
            reply = self._model.complete(request)
        except ModelFailure as failure:
            said: Json = {"failure": failure.kind.value, "message": str(failure)}
            said |= {"text": failure.text, "usage": _usage(failure.usage)}
            spent = failure.usage if failure.usage != Usage() else None
            cost = cost_of(failure.usage, self._entry.prices)
            call = self._call(request, said, spent, cost, self._clock() - begun)
            self.calls.append(call.model_copy(update={"problem": str(failure)}))
            raise
        said = {"text": reply.text, "model": reply.model, "usage": _usage(reply.usage)}
        said |= {"request_id": reply.request_id, "tries": reply.tries}
        call = self._call(request, said, reply.usage, reply.cost, reply.seconds)
        self.calls.append(call.model_copy(update={"model": reply.model or self._entry.model}))
        return reply

    def note(self, problem: str) -> None:
        """Say why the last reply was of no use."""
        if self.calls[-1].problem is None:
            self.calls[-1] = self.calls[-1].model_copy(update={"problem": problem})

    def _call(
        self,
        request: Request,
        said: Json,
        usage: Usage | None,
        cost: Decimal | None,
        seconds: float,
    ) -> LlmCall:
        number = len(self.calls)
        return LlmCall(
            model=self._entry.model,
            input_tokens=usage.input_tokens if usage else None,
            cached_tokens=usage.cached_tokens if usage else None,
            cache_write_tokens=usage.cache_write_tokens if usage else None,
            output_tokens=usage.output_tokens if usage else None,
            cost=cost,
            seconds=round(seconds, 4),
            request=self._kept(asked(request), "request", number),
            response=self._kept(said, "response", number),
        )

    def _kept(self, content: Json, role: str, number: int) -> BlobRecord:
        text = json.dumps(content, ensure_ascii=False, indent=1)
        data = text.encode("utf-8", "replace")
        sha256 = hashlib.sha256(data).hexdigest()
        self.blobs[sha256] = data
        return BlobRecord(
            sha256=sha256,
            media_type=JSON_TYPE,
            bytes=len(data),
            role=role,
            name=f"{role}_{number}.json",
        )


def asked(request: Request) -> Json:
    """The whole request as JSON. A picture is named by the hash of its bytes, kept beside it."""
    return {
        "model": request.model,
        "system": request.system,
        "messages": [
            {
                "role": message.role,
                "parts": [
                    {"text": part.text}
                    if isinstance(part, TextPart)
                    else {
                        "image_sha256": hashlib.sha256(part.data).hexdigest(),
                        "media_type": part.media_type,
                    }
                    for part in message.parts
                ],
            }
            for message in request.messages
        ],
        "schema": json.loads(json.dumps(request.schema)),
        "max_tokens": request.max_tokens,
        "temperature": request.temperature,
    }


def _usage(usage: Usage) -> Json:
    return {
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "cached_tokens": usage.cached_tokens,
        "cache_write_tokens": usage.cache_write_tokens,
    }
