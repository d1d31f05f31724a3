"""One step's questions to a model, each kept with its whole prompt, its reply and what it cost."""

import hashlib
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from decimal import Decimal
from typing import Generic, TypeVar

from webagent.agents.agent import AgentFailure, OutOfBudget
from webagent.agents.generic.request import Failed, Prompt, PromptTooLong, UnusableReply
from webagent.llm.budget import cost_of
from webagent.llm.interface import (
    FailureKind,
    LanguageModel,
    ModelFailure,
    Reply,
    Request,
    TextPart,
    Usage,
)
from webagent.llm.registry import ModelEntry
from webagent.trajectory.live import Decision
from webagent.trajectory.records import BlobRecord, ErrorOrigin, Json, LlmCall

JSON_TYPE = "application/json"


@dataclass(slots=True)
class Questions:
    """Asks, and remembers: `calls` and `blobs` are for the decision that comes of it."""

    model: LanguageModel
    entry: ModelEntry
    calls: list[LlmCall] = field(default_factory=list)
    blobs: dict[str, bytes] = field(default_factory=dict)

    def ask(self, request: Request) -> Reply:
        """The reply.

        Raises:
            ModelFailure: there is none; it is kept all the same.
        """
        begun = time.monotonic()
        try:
            reply = self.model.complete(request)
        except ModelFailure as failure:
            said: Json = {"failure": failure.kind.value, "message": str(failure)}
            said |= {"text": failure.text, "usage": asdict(failure.usage)}
            spent = failure.usage if failure.usage != Usage() else None
            cost = cost_of(failure.usage, self.entry.prices)
            call = self._call(request, said, spent, cost, time.monotonic() - begun)
            self.calls.append(call.model_copy(update={"problem": str(failure)}))
            raise
        said = {"text": reply.text, "model": reply.model, "usage": asdict(reply.usage)}
        said |= {"request_id": reply.request_id, "tries": reply.tries}
        call = self._call(request, said, reply.usage, reply.cost, reply.seconds)
        self.calls.append(call.model_copy(update={"model": reply.model or self.entry.model}))
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
            model=self.entry.model,
            **(asdict(usage) if usage else {}),
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


ReplyT = TypeVar("ReplyT")
MakePrompt = Callable[[Sequence[Failed], int], Prompt]
"""The request, given the replies to it that could not be used, within so many tokens."""

SAID_NOTHING_USABLE = {
    FailureKind.REFUSED: (
        "you refused to answer; if the goal cannot be reached, say so with an action."
    ),
    FailureKind.TRUNCATED: "it was cut off because it was too long; be brief.",
}
"""The model answered, if not with an action: that is the agent's doing, not the provider's."""
SHORTER = 0.7
MAX_SHORTENINGS = 3


@dataclass(frozen=True, slots=True)
class Attempted(Generic[ReplyT]):
    """How it went. `spent` is a decision of nothing, with what the replies took.

    Without a `reply`, `thought` is what could be read of one among those that `failed`.
    """

    reply: ReplyT | None
    failed: tuple[Failed, ...]
    thought: str | None
    spent: Decision

    @property
    def problem(self) -> str:
        """Why there is no reply."""
        return f"No usable action in {len(self.failed)} replies: {self.failed[-1].problem}"


@dataclass(slots=True)
class Tries(Generic[ReplyT]):
    """One model, asked at every step of a run.

    Args:
        budget: tokens of a prompt; fewer from the day on that the model finds one too long.
    """

    model: LanguageModel
    entry: ModelEntry
    budget: int

    def ask(
        self, make: MakePrompt, read: Callable[[str], ReplyT], retries: int
    ) -> Attempted[ReplyT]:
        """The first reply that can be used; others are sent back, with the reason, so often.

        Args:
            read: raises UnusableReply for what cannot be used.

        Raises:
            AgentFailure: the provider gave no reply, or the prompt cannot be made short enough.
        """
        questions = Questions(self.model, self.entry)
        failed: list[Failed] = []
        thought: str | None = None
        prompt: Prompt | None = None
        while len(failed) <= retries:
            prompt, said = self._ask_once(questions, make, failed)
            try:
                if said.problem:
                    raise UnusableReply(said.problem)
                reply = read(said.text)
            except UnusableReply as unusable:
                questions.note(str(unusable))
                failed.append(Failed(said.text, str(unusable)))
                thought = unusable.thought or thought
            else:
                return Attempted(reply, tuple(failed), None, _spent(questions, prompt))
        return Attempted(None, tuple(failed), thought, _spent(questions, prompt))

    def _ask_once(
        self, questions: Questions, make: MakePrompt, failed: Sequence[Failed]
    ) -> tuple[Prompt, Failed]:
        """The prompt, and what came back: a text, or a problem where the model broke off."""
        shortenings = 0
        prompt: Prompt | None = None
        while True:
            try:
                prompt = make(failed, self.budget)
                return prompt, Failed(questions.ask(prompt.request).text, "")
            except PromptTooLong as error:
                raise AgentFailure(
                    str(error), decision=_spent(questions, prompt), retriable=False
                ) from error
            except ModelFailure as failure:
                if prompt is not None and failure.kind in SAID_NOTHING_USABLE:
                    return prompt, Failed(failure.text, SAID_NOTHING_USABLE[failure.kind])
                if failure.kind is FailureKind.TOO_LONG and shortenings < MAX_SHORTENINGS:
                    # The model counts more tokens than we do: believe it from now on.
                    shortenings += 1
                    self.budget = int((prompt.tokens if prompt else self.budget) * SHORTER)
                    continue
                raise _failure(failure, _spent(questions, prompt)) from failure


def _spent(questions: Questions, prompt: Prompt | None) -> Decision:
    """What a step has cost and asked so far, with nothing decided."""
    return Decision(
        action=None,
        llm_calls=tuple(questions.calls),
        blobs=questions.blobs,
        marked_screenshot=prompt.marked if prompt else None,
    )


def _failure(failure: ModelFailure, decision: Decision) -> AgentFailure:
    kind = OutOfBudget if failure.kind is FailureKind.OUT_OF_BUDGET else AgentFailure
    return kind(
        str(failure),
        ErrorOrigin.MODEL,
        decision=decision,
        kind=failure.kind.value,
        fault=failure.kind.fault,
        retriable=failure.kind.is_temporary or failure.kind is FailureKind.UNREADABLE,
    )
