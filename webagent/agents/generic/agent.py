"""An agent that asks a language model for each action, and is patient with unusable replies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from webagent.agents.generic.asking import Attempted, Tries
from webagent.agents.generic.history import Turn, learn, remember, turns_of
from webagent.agents.generic.knowledge import knowledge_version
from webagent.agents.generic.page import CUT
from webagent.agents.generic.prompt import PromptMaker
from webagent.agents.generic.request import Failed, Prompt, Reply, read_reply
from webagent.agents.generic.settings import AgentSettings
from webagent.llm.interface import LanguageModel
from webagent.llm.registry import ModelEntry
from webagent.trajectory.live import Decision, Observation, Taken
from webagent.trajectory.records import AgentRecord

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
        """From now on exactly these steps lie behind, whoever took them."""
        self._turns = turns_of(history)

    def describe(self) -> AgentRecord:
        """All settings; the version names the prompts with their hash, and how pages are cut."""
        wording = self._settings.wording
        version = f"prompts {wording.version} ({wording.sha256[:12]}), pages cut {CUT}"
        if self._settings.knowledge is not None:
            version += f", {knowledge_version()}"
        return AgentRecord(
            name=NAME,
            version=version,
            config=self._settings.as_json(),
        )

    def advise(self, tips: str) -> None:
        """From now on these tips stand at the head of its prompt."""
        self._maker = PromptMaker(self._settings.model_copy(update={"tips": tips}), self._entry)

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
        if tried.reply is None:
            return self._gave_no_action(tried)
        return self._decided(tried.reply, tried.spent)

    def _decided(self, reply: Reply, spent: Decision) -> Decision:
        remember(self._turns, reply.action, reply.thought)
        is_message = reply.call.name == "send_msg_to_user"
        return replace(
            spent,
            action=reply.action,
            thought=reply.thought,
            finished=is_message and self._settings.ends_with_message,
            gave_up=reply.call.name == "report_infeasible",
        )

    def _gave_no_action(self, tried: Attempted[Reply]) -> Decision:
        waits = self._settings.after_parse_failure == "wait"
        action = WAIT if waits else None
        remember(self._turns, action, tried.thought)
        return replace(tried.spent, action=action, thought=tried.thought, problem=tried.problem)
