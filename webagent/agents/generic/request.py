"""What the requests of all agents have in common: a budget, and unusable replies sent back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from webagent.agents.generic.wording import filled
from webagent.llm.interface import Message, Request
from webagent.llm.registry import ModelEntry
from webagent.llm.tokens import fitting
from webagent.llm.untrusted import visible

REPLY_SHARE = 12
"""Each unusable reply may have a twelfth, when the model is shown it again,"""
LONGEST_REPLY_BACK = 4000
"""and no more than so many characters."""


class PromptTooLong(ValueError):
    """Not even goal and actions fit; the message says how much there is and would be needed."""


@dataclass(frozen=True, slots=True)
class Failed:
    """A reply that could not be used, and why."""

    text: str
    problem: str


@dataclass(frozen=True, slots=True)
class Prompt:
    """A request. `marked` is the picture with marks, if there is one in it."""

    request: Request
    tokens: int
    marked: bytes | None = None


def token_budget(entry: ModelEntry, *, max_prompt_tokens: int, max_reply_tokens: int) -> int:
    """Tokens of a prompt: as many as are set, and as the model's context leaves beside a reply."""
    if entry.context_tokens is None:
        return max_prompt_tokens
    return min(max_prompt_tokens, entry.context_tokens - max_reply_tokens)


def latest_that_fit(
    failed: Sequence[Failed],
    most: int,
    tokens_with: Callable[[Sequence[Failed]], int],
    *,
    what: str,
) -> tuple[Sequence[Failed], int]:
    """The latest replies that can be sent back, and the tokens of them with what is never cut.

    Args:
        most: tokens of the whole prompt.
        tokens_with: those of what is never cut (in words: `what`) with these replies.

    Raises:
        PromptTooLong: it does not even fit without any.
    """
    tokens = tokens_with(failed)
    while tokens > most and failed:
        failed = failed[1:]
        tokens = tokens_with(failed)
    if tokens > most:
        raise PromptTooLong(
            f"{what} alone take about {tokens} tokens, but the prompt may have {most} (the smaller"
            " of max_prompt_tokens and what the model's context leaves beside a reply)"
        )
    return failed, tokens


def sent_back(
    failed: Sequence[Failed], *, tokens: int, unusable: str, reply_form: str
) -> list[Message]:
    """The replies, each with why it could not be used.

    Args:
        tokens: of each reply at most.
        unusable: the words for that, with slots for `problem` and `reply`.
    """
    messages = []
    for each in failed:
        # A reply without any text is none that a provider takes back.
        said = fitting(visible(each.text).strip()[:LONGEST_REPLY_BACK], tokens) or "(nothing)"
        problem = filled(unusable, problem=visible(each.problem), reply=reply_form)
        messages += [Message.assistant(said), Message.user(problem.strip())]
    return messages
