"""An agent that asks a language model for each action: its prompts, and what becomes of replies."""

import io
from collections.abc import Iterator, Sequence
from dataclasses import replace

from PIL import Image, ImageDraw, ImageFont

from webagent.agents.generic.asking import Tries
from webagent.agents.generic.knowledge import knowledge_version
from webagent.agents.generic.page import CUT, can_be_acted_on
from webagent.agents.generic.parts import (
    Parts,
    PartsWriter,
    Turn,
    flat,
    is_in_view,
    learn,
    remember,
    turns_of,
)
from webagent.agents.generic.request import (
    REPLY_SHARE,
    SCHEMA,
    Failed,
    Prompt,
    Reply,
    latest_that_fit,
    read_reply,
    sent_back,
    token_budget,
)
from webagent.agents.settings import AgentSettings
from webagent.llm.budget import count_request
from webagent.llm.interface import ImagePart, LanguageModel, Message, Request, TextPart
from webagent.llm.registry import ModelEntry
from webagent.llm.untrusted import filled, marked_block, word_outside
from webagent.trajectory.live import Decision, Observation, Taken
from webagent.trajectory.recording import picture_of
from webagent.trajectory.records import AgentRecord, Box, Json

IMAGE_TYPES = ("image/png", "image/jpeg", "image/webp")


class PromptMaker:
    """Makes the requests of one agent."""

    def __init__(self, settings: AgentSettings, entry: ModelEntry) -> None:
        self._settings = settings
        self._entry = entry
        self._words = settings.wording.words
        self.writer = PartsWriter(settings)
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
        marked = _marked_screenshot(observation) if self._settings.marks else None
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
        caps = self.writer.caps(observation, turns, most - fixed, stable)
        while True:
            request = build(self.writer.parts(observation, turns, caps), failed)
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


_COLOURS = ("#b00020", "#0b57d0", "#146c2e", "#7a3ea8", "#a04b00", "#00626e")
_FONT_SIZE = 11
_SMALLEST = 3
"""Pixels: what is thinner cannot be hit."""


def _marked_screenshot(observation: Observation) -> bytes:
    """The screenshot as a PNG with a frame and a bid on every element that can be acted on."""
    with Image.open(io.BytesIO(observation.screenshot)) as opened:
        picture = opened.convert("RGB")
    draw = ImageDraw.Draw(picture)
    font = ImageFont.load_default(_FONT_SIZE)
    for number, (bid, box) in enumerate(marked_elements(observation)):
        colour = _COLOURS[number % len(_COLOURS)]
        left, top = max(box.x, 0), max(box.y, 0)
        right = min(box.x + box.width, picture.width) - 1
        bottom = min(box.y + box.height, picture.height) - 1
        draw.rectangle((left, top, max(left, right), max(top, bottom)), outline=colour, width=1)
        _label(draw, font, bid, (left, top), colour, picture.size)
    buffer = io.BytesIO()
    picture.save(buffer, format="PNG")
    return buffer.getvalue()


def marked_elements(observation: Observation) -> Iterator[tuple[str, Box]]:
    """Bid and box of what can be acted on within the picture, in the tree's order."""
    for node in observation.nodes:
        box = observation.boxes.get(node.bid) if node.bid else None
        if node.bid is None or box is None or not can_be_acted_on(node):
            continue
        if is_in_view(box, observation) and min(box.width, box.height) >= _SMALLEST:
            yield node.bid, box


def _label(
    draw: ImageDraw.ImageDraw,
    font: ImageFont.FreeTypeFont | ImageFont.ImageFont,
    text: str,
    corner: tuple[float, float],
    colour: str,
    size: tuple[int, int],
) -> None:
    """The text on a plate at the corner, above the element if there is room, inside the picture."""
    x0, y0, x1, y1 = draw.textbbox((0, 0), text, font=font)
    width, height = x1 - x0 + 4, y1 - y0 + 4
    left = max(0.0, min(corner[0], size[0] - width))
    top = corner[1] - height if corner[1] >= height else corner[1]
    draw.rectangle((left, top, left + width, top + height), fill=colour)
    draw.text((left + 2 - x0, top + 2 - y0), text, fill="white", font=font)


NAME = "generic"
WAIT = "noop(1000)"


class GenericAgent:
    """One language model at one task. Make a new one for the next run."""

    def __init__(self, settings: AgentSettings, model: LanguageModel, entry: ModelEntry) -> None:
        self._settings = settings
        self._entry = entry
        self._maker = PromptMaker(settings, entry)
        self._tries: Tries[Reply] = Tries(model, entry, self._maker.budget)
        self._turns: list[Turn] = []

    def resume_from(self, history: Sequence[Taken]) -> None:
        self._turns = turns_of(history)

    def describe(self) -> AgentRecord:
        """All settings; the version names the prompts with their hash, and how pages are cut."""
        wording = self._settings.wording
        version = f"prompts {wording.version} ({wording.sha256[:12]}), pages cut {CUT}"
        if self._settings.knowledge is not None:
            version += f", {knowledge_version()}"
        return AgentRecord(name=NAME, version=version, config=self._settings.as_json())

    def advise(self, tips: str) -> None:
        self._maker = PromptMaker(self._settings.model_copy(update={"tips": tips}), self._entry)

    def knowledge_given(self) -> Json | None:
        return self._maker.writer.knowledge_given()

    def act(self, observation: Observation) -> Decision:
        """What to do next. An unusable reply is sent back, so often as is set, and then said.

        Raises:
            AgentFailure: the provider gave no reply, or not even goal and actions fit the prompt.
        """
        learn(self._turns, observation)

        def make(failed: Sequence[Failed], budget: int) -> Prompt:
            return self._maker.prompt(observation, self._turns, failed, budget=budget)

        def read(text: str) -> Reply:
            bids = {node.bid for node in observation.nodes if node.bid} | set(observation.boxes)
            return read_reply(text, self._settings.reply, self._settings.allowed, bids)

        tried = self._tries.ask(make, read, self._settings.max_parse_retries)
        if (reply := tried.reply) is None:
            action = WAIT if self._settings.after_parse_failure == "wait" else None
            remember(self._turns, action, tried.thought)
            return replace(tried.spent, action=action, thought=tried.thought, problem=tried.problem)
        remember(self._turns, reply.action, reply.thought)
        is_message = reply.call.name == "send_msg_to_user"
        return replace(
            tried.spent,
            action=reply.action,
            thought=reply.thought,
            finished=is_message and self._settings.ends_with_message,
            gave_up=reply.call.name == "report_infeasible",
        )
