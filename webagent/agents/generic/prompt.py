"""One observation as one request that fits the model: parts with budgets, cut in a fixed order."""

from __future__ import annotations

from collections.abc import Sequence

from webagent.agents.generic.history import Turn
from webagent.agents.generic.page import marked_screenshot
from webagent.agents.generic.parts import Parts, PartsWriter, flat
from webagent.agents.generic.request import (
    REPLY_SHARE,
    SCHEMA,
    Failed,
    Prompt,
    latest_that_fit,
    sent_back,
    token_budget,
)
from webagent.agents.generic.settings import AgentSettings
from webagent.agents.generic.wording import filled
from webagent.llm.interface import ImagePart, Message, Request, TextPart
from webagent.llm.registry import ModelEntry
from webagent.llm.tokens import count_request
from webagent.llm.untrusted import marked_block, word_outside
from webagent.trajectory.live import Observation
from webagent.trajectory.recording import picture_of

IMAGE_TYPES = ("image/png", "image/jpeg", "image/webp")


class PromptMaker:
    """Makes the requests of one agent."""

    def __init__(self, settings: AgentSettings, entry: ModelEntry) -> None:
        self._settings = settings
        self._entry = entry
        self._words = settings.wording.words
        self._writer = PartsWriter(settings)
        self._schema = SCHEMA if settings.reply == "json" else None
        self.budget = token_budget(
            entry,
            max_prompt_tokens=settings.max_prompt_tokens,
            max_reply_tokens=settings.max_reply_tokens,
        )

    def prompt(
        self,
        observation: Observation,
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
            PromptTooLong: goal and actions alone are over it.
        """
        most = self.budget if budget is None else min(budget, self.budget)
        marked = marked_screenshot(observation) if self._settings.marks else None
        images = self._images(observation, marked)
        stable = max(0, most - count_request(self._stable(observation, images), self._entry))

        def build(parts: Parts, failed: Sequence[Failed]) -> Request:
            return self._request(observation, images, parts, failed, stable // REPLY_SHARE)

        failed, fixed = latest_that_fit(
            failed,
            most,
            lambda some: count_request(build(Parts(), some), self._entry),
            what=f"the goal, the actions and {len(images)} pictures",
        )
        caps = self._writer.caps(observation, turns, most - fixed, stable)
        while True:
            request = build(self._writer.parts(observation, turns, caps), failed)
            tokens = count_request(request, self._entry)
            if tokens <= most:
                return Prompt(request, tokens, marked)
            caps = caps.less(tokens - most)

    def _stable(self, observation: Observation, images: tuple[ImagePart, ...]) -> Request:
        """What every request of the run holds at least, in the same words."""
        goal = filled(self._words.goal, text=observation.goal)
        message = Message("user", (TextPart(f"{goal}\n{self._words.ending}"), *images))
        system = self._system(Parts())
        return Request(model="", messages=(message,), system=system, schema=self._schema)

    def _request(
        self,
        observation: Observation,
        images: tuple[ImagePart, ...],
        parts: Parts,
        failed: Sequence[Failed],
        reply_tokens: int,
    ) -> Request:
        settings = self._settings
        text = self._message(observation, parts)
        again = sent_back(
            failed,
            tokens=reply_tokens,
            unusable=self._words.unusable,
            reply_form=self._reply_form(),
        )
        return Request(
            model=settings.model,
            messages=(Message("user", (TextPart(text), *images)), *again),
            system=self._system(parts),
            schema=self._schema,
            schema_name="next_action",
            max_tokens=settings.max_reply_tokens,
            temperature=settings.temperature,
            is_prefix_cached=True,
        )

    def _system(self, parts: Parts) -> str:
        settings, words = self._settings, self._words
        text = parts.tips.replace("</tips>", "‹/tips>")
        seen = [words.axtree] if settings.sees_tree else []
        seen += [words.screenshot] if settings.sees_picture else []
        seen += [words.marks] if settings.marks else []
        actions = "\n".join(
            f"- {action.signature}: {words.actions[action.name]}" for action in settings.allowed
        )
        tips = (filled(words.tips, text=text) if text else words.no_tips).strip()
        return filled(
            words.system,
            tips="\n\n".join(filter(None, (tips, parts.knowledge))),
            observation="".join(seen).strip("\n"),
            actions=actions,
            reply=self._reply_form(),
            examples=f"{words.examples}{parts.examples}" if parts.examples else "",
        ).strip()

    def _reply_form(self) -> str:
        words = self._words
        return (words.reply_json if self._settings.reply == "json" else words.reply_tags).strip()

    def _message(self, observation: Observation, parts: Parts) -> str:
        words = self._words
        goal = filled(words.goal, text=observation.goal).strip()
        fenced = {"tabs": parts.tabs, "error": parts.error, "page": parts.page}
        mark = word_outside((goal, parts.history, *fenced.values()), "page")
        texts = [goal]
        if parts.history:
            texts.append(filled(words.history, text=parts.history))
        texts.append(filled(words.code_word, mark=mark))
        for name, text in fenced.items():
            if name == "page" and observation.focused:
                texts.append(filled(words.focused, bid=flat(observation.focused)))
            if text:
                block = marked_block(name, mark, text)
                texts.append(filled(getattr(words, name), text=block))
        return "\n".join((*texts, words.ending))

    def _images(self, observation: Observation, marked: bytes | None) -> tuple[ImagePart, ...]:
        goal = [picture_of(url) for url in observation.goal_images]
        images = [
            ImagePart(content, media_type)
            for media_type, content in filter(None, goal)
            if media_type in IMAGE_TYPES
        ]
        if self._settings.sees_picture:
            images.append(ImagePart(marked or observation.screenshot, "image/png"))
        return tuple(images)
