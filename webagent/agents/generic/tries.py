"""Asking a model until its reply can be used: patience with replies, and with prompts too long."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from webagent.agents.agent import AgentFailure, OutOfBudget
from webagent.agents.generic.asking import Questions
from webagent.agents.generic.reply import UnusableReply
from webagent.agents.generic.request import Failed, Prompt, PromptTooLong
from webagent.llm.interface import FailureKind, LanguageModel, ModelFailure
from webagent.llm.registry import ModelEntry
from webagent.trajectory.live import Decision
from webagent.trajectory.records import ErrorOrigin

ReplyT = TypeVar("ReplyT")
MakePrompt = Callable[[Sequence[Failed], int], Prompt]
"""The request, given the replies to it that could not be used, within so many tokens."""

SAID_NOTHING_USABLE = (FailureKind.REFUSED, FailureKind.TRUNCATED)
"""The model answered, if not with an action: that is the agent's doing, not the provider's."""
SHORTER = 0.7
MAX_SHORTENINGS = 3


@dataclass(frozen=True, slots=True)
class Tried(Generic[ReplyT]):
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


class Tries(Generic[ReplyT]):
    """One model, asked at every step of a run.

    Args:
        budget: tokens of a prompt; fewer from the day on that the model finds one too long.
    """

    def __init__(self, model: LanguageModel, entry: ModelEntry, budget: int) -> None:
        self._model = model
        self._entry = entry
        self._budget = budget

    def ask(self, make: MakePrompt, read: Callable[[str], ReplyT], retries: int) -> Tried[ReplyT]:
        """The first reply that can be used; others are sent back, with the reason, so often.

        Args:
            read: raises UnusableReply for what cannot be used.

        Raises:
            AgentFailure: the provider gave no reply, or the prompt cannot be made short enough.
        """
        questions = Questions(self._model, self._entry)
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
                return Tried(reply, tuple(failed), None, _spent(questions, prompt))
        return Tried(None, tuple(failed), thought, _spent(questions, prompt))

    def _ask_once(
        self, questions: Questions, make: MakePrompt, failed: Sequence[Failed]
    ) -> tuple[Prompt, Failed]:
        """The prompt, and what came back: a text, or a problem where the model broke off."""
        shortenings = 0
        prompt: Prompt | None = None
        while True:
            try:
                prompt = make(failed, self._budget)
                return prompt, Failed(questions.ask(prompt.request).text, "")
            except PromptTooLong as error:
                raise AgentFailure(
                    str(error), decision=_spent(questions, prompt), retriable=False
                ) from error
            except ModelFailure as failure:
                if prompt is not None and failure.kind in SAID_NOTHING_USABLE:
                    return prompt, Failed(failure.text, _why_unusable(failure))
                if failure.kind is FailureKind.TOO_LONG and shortenings < MAX_SHORTENINGS:
                    # The model counts more tokens than we do: believe it from now on.
                    shortenings += 1
                    self._budget = int((prompt.tokens if prompt else self._budget) * SHORTER)
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


def _why_unusable(failure: ModelFailure) -> str:
    if failure.kind is FailureKind.REFUSED:
        return "you refused to answer; if the goal cannot be reached, say so with an action."
    return "it was cut off because it was too long; be brief."


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
