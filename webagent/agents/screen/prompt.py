"""A screen as one request that fits the model: parts with budgets, cut in a fixed order."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from webagent.agents.generic.page import Interest, cut_tree
from webagent.agents.generic.parts import Turn, history_text
from webagent.agents.generic.request import (
    REPLY_SHARE,
    Failed,
    Prompt,
    latest_that_fit,
    sent_back,
    token_budget,
)
from webagent.agents.screen.reply import KEYS, SCHEMA, WorkedExample
from webagent.agents.settings import ScreenSettings
from webagent.llm.budget import count_request, count_tokens, fitting
from webagent.llm.interface import Message, Request
from webagent.llm.registry import ModelEntry
from webagent.llm.untrusted import filled, marked_block, visible, word_outside

SCREEN_SHARE = 0.6
"""Of what is left beside goal, commands and what stands still, the screen gets at least so much."""
TIPS_SHARE, EXAMPLE_SHARE, ERROR_SHARE = 6, 3, 12
"""One part of so many of the prompt at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptScreen:
    """What an agent knows of a moment: nothing of the page behind the picture."""

    goal: str
    lines: str
    size: tuple[int, int]
    last_error: str = ""
    example: WorkedExample | None = None
    reply_tokens: int


@dataclass(frozen=True, slots=True)
class _Parts:
    """The texts that may be cut. An empty one is left out."""

    tips: str = ""
    example: str = ""
    history: str = ""
    error: str = ""
    screen: str = ""


class ScreenPrompts:
    """Makes the requests of one agent."""

    def __init__(self, settings: ScreenSettings, entry: ModelEntry) -> None:
        self._settings = settings
        self._entry = entry
        self._words = settings.wording.words
        self._reply = self._words.reply.strip()
        self.budget = token_budget(
            entry,
            max_prompt_tokens=settings.max_prompt_tokens,
            max_reply_tokens=settings.longest_reply_tokens,
        )

    def prompt(
        self,
        look: PromptScreen,
        turns: Sequence[Turn] = (),
        failed: Sequence[Failed] = (),
        *,
        budget: int | None = None,
    ) -> Prompt:
        """The request for what to do next, never over the budget.

        Args:
            failed: replies to this very request that could not be used.
            budget: tokens, if fewer than usual.

        Raises:
            PromptTooLong: goal and commands alone are over it.
        """
        most = self.budget if budget is None else min(budget, self.budget)
        stable = self._stable(look, most)
        reply_tokens = max(0, most - self._tokens(look, stable, (), 0)) // REPLY_SHARE
        failed, fixed = latest_that_fit(
            failed,
            most,
            lambda some: self._tokens(look, stable, some, reply_tokens),
            what="the goal and the commands",
        )
        left = most - fixed
        while True:
            parts = self._varying(look, turns, stable, left)
            request = self._request(look, parts, failed, reply_tokens)
            tokens = count_request(request, self._entry)
            if tokens <= most:
                return Prompt(request, tokens)
            # What frames the parts counts too.
            left = max(0, left - (tokens - most))

    def _stable(self, look: PromptScreen, most: int) -> _Parts:
        """What every request of the run holds in the same words, as providers' caches want it."""
        settings = self._settings
        left = max(0, most - self._tokens(look, _Parts(), (), 0))
        example = "" if look.example is None else self._example(look.example)
        fits = count_tokens(example) <= min(settings.example_tokens, left // EXAMPLE_SHARE)
        tips = visible(settings.tips).strip().replace("</tips>", "‹/tips>")
        return _Parts(
            tips=fitting(tips, min(settings.tips_tokens, left // TIPS_SHARE)),
            example=example if fits else "",
        )

    def _varying(
        self, look: PromptScreen, turns: Sequence[Turn], stable: _Parts, left: int
    ) -> _Parts:
        """All parts within so many tokens beside the stable ones."""
        settings, words = self._settings, self._words
        error = min(settings.error_tokens, left // ERROR_SHARE)
        said = fitting(visible(look.last_error), error)
        left -= count_tokens(said)
        lines = visible(look.lines)
        screen = min(settings.screen_tokens, left, count_tokens(lines))
        assured = min(screen, int(left * SCREEN_SHARE))
        history = history_text(turns, min(settings.history_tokens, left - assured), words)
        screen = min(screen, left - count_tokens(history))
        interest = Interest(texts=(look.goal,))
        cut = cut_tree(lines, screen, interest, words.screen_left_out) if screen > 0 else ""
        return replace(stable, history=history, error=said, screen=cut)

    def _tokens(
        self, look: PromptScreen, parts: _Parts, failed: Sequence[Failed], reply_tokens: int
    ) -> int:
        return count_request(self._request(look, parts, failed, reply_tokens), self._entry)

    def _request(
        self, look: PromptScreen, parts: _Parts, failed: Sequence[Failed], reply_tokens: int
    ) -> Request:
        settings = self._settings
        again = sent_back(
            failed, tokens=reply_tokens, unusable=self._words.unusable, reply_form=self._reply
        )
        return Request(
            model=settings.model,
            messages=(Message.user(self._message(look, parts)), *again),
            system=self._system(look, parts),
            schema=SCHEMA,
            schema_name="next_commands",
            max_tokens=look.reply_tokens,
            temperature=settings.temperature,
            is_prefix_cached=True,
        )

    def _system(self, look: PromptScreen, parts: _Parts) -> str:
        words = self._words
        tips = filled(words.tips, text=parts.tips) if parts.tips else words.no_tips
        width, height = look.size
        keys = ", ".join(f'"{key}"' for key in KEYS)
        system = filled(
            words.system,
            tips=tips.strip(),
            width=width,
            height=height,
            keys=keys,
            reply=self._reply,
        )
        return f"{system.strip()}{parts.example}"

    def _example(self, example: WorkedExample) -> str:
        words = self._words
        turns = "\n".join(
            filled(words.example_turn, screen=turn.screen.strip(), reply=turn.as_reply)
            for turn in example.turns
        )
        return filled(words.example, goal=example.goal, turns=turns.strip("\n"))

    def _message(self, look: PromptScreen, parts: _Parts) -> str:
        words = self._words
        goal = filled(words.goal, text=look.goal).strip()
        mark = word_outside((goal, parts.history, parts.error, parts.screen), "screen")
        texts = [goal]
        if parts.history:
            texts.append(filled(words.history, text=parts.history))
        texts.append(filled(words.code_word, mark=mark))
        if parts.error:
            texts.append(filled(words.error, text=marked_block("error", mark, parts.error)))
        if parts.screen:
            texts.append(filled(words.screen, text=marked_block("screen", mark, parts.screen)))
        elif not look.lines:
            texts.append(words.nothing_seen)
        return "\n".join((*texts, words.ending))
