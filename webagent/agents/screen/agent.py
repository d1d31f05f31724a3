"""An agent that reads the screenshot and nothing else, and acts by mouse and keyboard."""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from urllib.parse import urlsplit

from pydantic import JsonValue

from webagent.agents.agent import AgentFailure, OutOfCompletions
from webagent.agents.generic.asking import Questions, Tries
from webagent.agents.generic.parts import Turn, learn, remember, turns_of
from webagent.agents.generic.request import Failed, Prompt
from webagent.agents.screen.prompt import PromptScreen, ScreenPrompts
from webagent.agents.screen.reply import ScreenReply, as_commands, browser_action, read_reply
from webagent.agents.settings import ScreenSettings, VisionSettings
from webagent.llm.interface import LanguageModel, Reply, Request
from webagent.llm.registry import ModelEntry
from webagent.trajectory.live import Decision, Observation, ReadScreen, Taken
from webagent.trajectory.records import AgentRecord, ErrorOrigin
from webagent.vision.engines import Detector, Ocr, OcrUnavailable, load_detector, open_ocr
from webagent.vision.reading import Captioner, ModelCaptioner, ScreenReader
from webagent.vision.screen import ScreenText, draw_boxes

Read = Callable[[Observation], ScreenText]

INSTRUCTION_AREAS = {"miniwob.localhost": 75}
"""How high the instruction stands above a site's tasks, in pixels of its screenshots, by host.

On MiniWoB++ a yellow area of 50 CSS pixels, of which the screenshots show 1.5 for each. The
environment empties it, since the goal is given as text.
"""

_reading = threading.Lock()


@dataclass(frozen=True, slots=True)
class ScreenReading:
    """A screenshot as text, and as a picture with the boxes drawn on it."""

    screen: ScreenText
    lines: str
    drawn: bytes | None

    @property
    def kept(self) -> ReadScreen:
        """What a step keeps of it."""
        items: list[JsonValue] = [
            {"kind": item.kind, "text": item.text, "box": [box.x1, box.y1, box.x2, box.y2]}
            for item in self.screen.items
            for box in (item.box,)
        ]
        return ReadScreen(
            self.lines,
            {
                "size": list(self.screen.size),
                "items": items,
                "milliseconds": dict(self.screen.milliseconds),
            },
        )


def look(observation: Observation, read: Read) -> ScreenReading:
    """What the screenshot says. Where there is none, nothing is seen.

    Raises:
        AgentFailure: the engine that reads does not work here.
    """
    screen = read(observation)
    drawn = draw_boxes(observation.screenshot, screen) if observation.screenshot else None
    return ScreenReading(screen, screen.lines(), drawn)


def reader_of(settings: VisionSettings, captioner: Captioner | None = None) -> Read:
    """Reads screenshots as it is set. Its engines are loaded at the first look."""

    def read(observation: Observation) -> ScreenText:
        if not observation.screenshot:
            return ScreenText((), (observation.width, observation.height))
        cut_top = settings.cut_top
        if cut_top is None:
            cut_top = INSTRUCTION_AREAS.get(urlsplit(observation.url).hostname or "", 0)
        # One picture at a time: an engine uses all cores by itself, and not all are of threads.
        with _reading:
            ocr, detector = _engines(settings.ocr)
            reader = ScreenReader(ocr, detector, captioner=captioner, cut_top=cut_top)
            try:
                return reader.read(observation.screenshot)
            except OcrUnavailable as broken:
                raise AgentFailure(str(broken), ErrorOrigin.HARNESS) from broken

    return read


@cache
def _engines(ocr: str) -> tuple[Ocr, Detector]:
    """The engine that reads and the detector, once for the process.

    Raises:
        AgentFailure: one of them is not installed, or does not work.
    """
    try:
        return open_ocr(ocr), load_detector()
    except (ImportError, OSError, RuntimeError) as missing:
        raise AgentFailure(str(missing), ErrorOrigin.HARNESS, retriable=False) from missing


class Captions:
    """The captioner of one agent; the same picture is asked about once."""

    def __init__(self, model: LanguageModel, entry: ModelEntry) -> None:
        self._model = model
        self._entry = entry
        self._questions = Questions(model, entry)
        self.captioner: Captioner = ModelCaptioner(self, entry.name)

    def complete(self, request: Request) -> Reply:
        """The reply, noted as its failure is."""
        return self._questions.ask(request)

    def added_to(self, decision: Decision) -> Decision:
        """The decision with what was asked for captions since the one before."""
        asked, self._questions = self._questions, Questions(self._model, self._entry)
        calls = (*asked.calls, *decision.llm_calls)
        return replace(decision, llm_calls=calls, blobs={**asked.blobs, **decision.blobs})


NAME = "screen"


class ScreenAgent:
    """One language model at one task. Make a new one for the next run.

    All commands of a reply are one step: they were decided on one screen, which is the step's, and
    each is a call of its action with its own place and outcome.

    Args:
        read: how an observation is read; the settings' way by default.
        captions: names pictures without text.
    """

    def __init__(
        self,
        settings: ScreenSettings,
        model: LanguageModel,
        entry: ModelEntry,
        read: Read | None = None,
        captions: Captions | None = None,
    ) -> None:
        self._settings = settings
        self._entry = entry
        self._captions = captions
        self._read = read or reader_of(settings, captions.captioner if captions else None)
        self._prompts = ScreenPrompts(settings, entry)
        self._tries: Tries[ScreenReply] = Tries(model, entry, self._prompts.budget)
        self._turns: list[Turn] = []
        self._completions = 0

    def resume_from(self, history: Sequence[Taken]) -> None:
        """From now on exactly these steps lie behind. What was asked for stays asked for."""
        self._turns = [
            replace(turn, action=None if turn.action is None else as_commands(turn.action))
            for turn in turns_of(history)
        ]

    def advise(self, tips: str) -> None:
        advised = self._settings.model_copy(update={"tips": tips})
        self._prompts = ScreenPrompts(advised, self._entry)

    def describe(self) -> AgentRecord:
        """All settings; the version says which prompts and examples, and their hashes."""
        wording = self._settings.wording
        version = f"prompts {wording.version} ({wording.sha256[:12]})"
        if self._settings.worked.examples:
            version += f", examples ({self._settings.worked.sha256[:12]})"
        return AgentRecord(name=NAME, version=version, config=self._settings.as_json())

    def act(self, observation: Observation) -> Decision:
        """What to do next, by the goal and the screenshot alone.

        Raises:
            AgentFailure: the provider gave no reply, or not even goal and commands fit the prompt.
            OutOfCompletions: the model was asked as often as it may be.
        """
        learn(self._turns, observation)
        limit = self._settings.max_completions
        left = limit - self._completions
        if left <= 0:
            why = f"The model was not asked: the run has had its {limit} completions"
            raise OutOfCompletions(why, decision=Decision(action=None, problem=why))
        seen = look(observation, self._read)
        known = PromptScreen(
            goal=observation.goal,
            lines=seen.lines,
            size=(observation.width, observation.height),
            last_error=observation.last_error or "",
            example=self._settings.worked.of(observation.url),
            reply_tokens=self._settings.reply_tokens(observation.url),
        )

        def make(failed: Sequence[Failed], budget: int) -> Prompt:
            return self._prompts.prompt(known, self._turns, failed, budget=budget)

        retries = min(self._settings.max_parse_retries, left - 1)
        try:
            tried = self._tries.ask(make, lambda text: read_reply(text, known.size), retries)
        except AgentFailure as failure:
            failure.decision = self._seeing(failure.decision, seen)
            raise
        self._completions += len(tried.failed) + (tried.reply is not None)
        decision = self._seeing(tried.spent, seen)
        if tried.reply is None:
            remember(self._turns, None, tried.thought)
            return replace(decision, thought=tried.thought, problem=tried.problem)
        return self._decided(decision, tried.reply)

    def _decided(self, decision: Decision, reply: ScreenReply) -> Decision:
        action = browser_action(reply.commands, self._settings.scroll_pixels) or None
        remember(self._turns, None if action is None else as_commands(action), reply.said)
        return replace(decision, action=action, thought=reply.said, finished=action is None)

    def _seeing(self, decision: Decision, seen: ScreenReading) -> Decision:
        """The decision with what was seen, and what seeing it took."""
        whole = replace(decision, screen=seen.kept, marked_screenshot=seen.drawn)
        return whole if self._captions is None else self._captions.added_to(whole)
