"""One observation as one request that fits the model: parts with budgets, cut in a fixed order."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

from webagent.agents.generic.history import Turn, told_history
from webagent.agents.generic.knowledge import KnowledgeTeller, framed
from webagent.agents.generic.marks import marked_screenshot
from webagent.agents.generic.page import Interest, cut_tree
from webagent.agents.generic.reply import SCHEMA
from webagent.agents.generic.settings import AgentSettings
from webagent.agents.generic.tokens import count_request, count_tokens, fitting
from webagent.agents.generic.wording import Example, filled
from webagent.llm.interface import ImagePart, Message, Request, TextPart
from webagent.llm.registry import ModelEntry
from webagent.llm.untrusted import marked_block, visible, word_outside
from webagent.trajectory.live import Observation
from webagent.trajectory.recording import picture_of

IMAGE_TYPES = ("image/png", "image/jpeg", "image/webp")
PAGE_SHARE = 0.6
"""Of what is left beside goal, actions and examples, the page gets at least so much."""
LONGEST_REPLY_BACK = 4000
"""Characters of an unusable reply that the model is shown again."""


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


@dataclass(frozen=True, slots=True)
class _Parts:
    """The texts of one prompt that may be cut. An empty one is left out."""

    tips: str = ""
    knowledge: str = ""
    examples: str = ""
    history: str = ""
    tabs: str = ""
    error: str = ""
    page: str = ""


@dataclass(frozen=True, slots=True)
class _Caps:
    """How many tokens each part may have at most, in the order in which they are cut."""

    page: int
    history: int
    examples: int
    tabs: int
    knowledge: int
    tips: int
    error: int


class PromptMaker:
    """Makes the requests of one agent."""

    def __init__(self, settings: AgentSettings, entry: ModelEntry) -> None:
        self._settings = settings
        self._entry = entry
        self._words = settings.wording.words
        self._knowledge = KnowledgeTeller(settings.knowledge) if settings.knowledge else None
        self.budget = settings.max_prompt_tokens
        if entry.context_tokens is not None:
            self.budget = min(self.budget, entry.context_tokens - settings.max_reply_tokens)

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

        def build(parts: _Parts) -> Request:
            return self._request(observation, images, parts, failed)

        fixed = count_request(build(_Parts()), self._entry)
        while fixed > most and failed:
            failed = failed[1:]
            fixed = count_request(build(_Parts()), self._entry)
        if fixed > most:
            raise PromptTooLong(
                f"the goal, the actions and {len(images)} pictures alone take about {fixed} tokens,"
                f" but the prompt may have {most} (the smaller of max_prompt_tokens and what the"
                " model's context leaves beside a reply)"
            )
        caps = self._caps(observation, turns, most - fixed)
        while True:
            request = build(self._parts(observation, turns, caps))
            tokens = count_request(request, self._entry)
            if tokens <= most:
                return Prompt(request, tokens, marked)
            caps = _less(caps, tokens - most)

    def _caps(self, observation: Observation, turns: Sequence[Turn], left: int) -> _Caps:
        """The budget shared out: what is short and certain first, the page last but assured."""
        settings = self._settings
        error = min(settings.error_tokens, left // 4)
        tips = min(settings.tips_tokens, left // 3)
        knowledge = min(settings.knowledge_tokens, left // 3) if self._knowledge else 0
        tabs = min(settings.tabs_tokens, left // 8)
        examples = left // 4
        taken = _Caps(0, 0, examples, tabs, knowledge, tips, error)
        parts = self._parts(observation, (), taken)
        told_first = (parts.tips, parts.knowledge, parts.examples, parts.tabs, parts.error)
        left -= sum(map(count_tokens, told_first))
        page = min(settings.page_tokens, left, count_tokens(visible(observation.axtree)) + 64)
        if not settings.sees_tree:
            page = 0
        assured = min(page, int(left * PAGE_SHARE))
        history = min(settings.history_tokens, max(0, left - assured))
        told = count_tokens(told_history(turns, history, self._words))
        return replace(taken, history=history, page=max(0, min(page, left - told)))

    def _parts(self, observation: Observation, turns: Sequence[Turn], caps: _Caps) -> _Parts:
        settings, words = self._settings, self._words
        # As shown, so that what is counted is what is sent.
        error = visible(observation.last_error or "")
        tabs = "\n".join(
            f"{'*' if tab.active else '-'} {number}: {_flat(tab.title or '')} ({_flat(tab.url)})"
            for number, tab in enumerate(observation.tabs)
        )
        page = ""
        if settings.sees_tree and caps.page:
            page = cut_tree(
                visible(observation.axtree),
                caps.page,
                _interest(observation, turns),
                words.page_left_out,
            )
        knowledge = ""
        if self._knowledge is not None:
            knowledge = framed(self._knowledge.block(observation.goal, caps.knowledge).text)
        return _Parts(
            knowledge=knowledge,
            tips=fitting(visible(settings.tips).strip(), caps.tips),
            examples=self._examples(caps.examples),
            history=told_history(turns, caps.history, words),
            tabs=fitting(tabs, caps.tabs),
            error=fitting(error, caps.error),
            page=page,
        )

    def _examples(self, tokens: int) -> str:
        """As many as are wanted, of actions that are allowed, whole, within so many tokens."""
        names = {action.name for action in self._settings.allowed}
        usable = [
            example
            for example in self._words.example
            if example.action.partition("(")[0] in names
            and bool(example.page) == (self._settings.sees_tree or self._settings.marks)
        ]
        shown: list[str] = []
        for number, example in enumerate(usable[: self._settings.examples], start=1):
            shown.append(self._example(number, example))
            if count_tokens("\n".join(shown)) > tokens:
                shown.pop()
                break
        return "\n".join(shown)

    def _example(self, number: int, example: Example) -> str:
        if self._settings.reply == "json":
            reply = json.dumps({"thought": example.thought, "action": example.action})
        else:
            reply = f"<thought>{example.thought}</thought>\n<action>{example.action}</action>"
        shown = example.page.strip() or f"(a picture: {example.picture})"
        return f"\nExample {number}. Goal: {example.goal}\n{shown}\nReply:\n{reply}"

    def _request(
        self,
        observation: Observation,
        images: tuple[ImagePart, ...],
        parts: _Parts,
        failed: Sequence[Failed],
    ) -> Request:
        settings = self._settings
        text = self._message(observation, parts)
        messages = [Message("user", (TextPart(text), *images))]
        form = self._reply_form()
        for each in failed:
            # A reply without any text is none that a provider takes back.
            said = visible(each.text).strip()[:LONGEST_REPLY_BACK] or "(nothing)"
            problem = filled(self._words.unusable, problem=visible(each.problem), reply=form)
            messages += [Message.assistant(said), Message.user(problem.strip())]
        return Request(
            model=settings.model,
            messages=tuple(messages),
            system=self._system(parts),
            schema=SCHEMA if settings.reply == "json" else None,
            schema_name="next_action",
            max_tokens=settings.max_reply_tokens,
            temperature=settings.temperature,
            is_prefix_cached=True,
        )

    def _system(self, parts: _Parts) -> str:
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

    def _message(self, observation: Observation, parts: _Parts) -> str:
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
                texts.append(filled(words.focused, bid=_flat(observation.focused)))
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


def _interest(observation: Observation, turns: Sequence[Turn]) -> Interest:
    """What the goal and the last turn name, and what has the focus."""
    last = [turn.action for turn in turns[-1:] if turn.action]
    named = [
        node.bid
        for node in observation.nodes
        if node.bid
        and any(f"'{node.bid}'" in action or f'"{node.bid}"' in action for action in last)
    ]
    focused = [observation.focused] if observation.focused else []
    focused += [node.bid for node in observation.nodes if node.bid and node.has("focused")]
    return Interest(texts=(observation.goal, *last), bids=frozenset((*named, *focused)))


def _less(caps: _Caps, tokens: int) -> _Caps:
    """The caps with so many tokens less, taken from the first parts that have any."""
    left = tokens
    shares: dict[str, int] = {}
    for name in ("page", "history", "examples", "tabs", "knowledge", "tips", "error"):
        cap = getattr(caps, name)
        taken = min(cap, left)
        shares[name] = cap - taken
        left -= taken
    return _Caps(**shares)


def _flat(text: str) -> str:
    return " ".join(visible(text).split())
