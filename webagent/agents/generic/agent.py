"""An agent that asks a language model for each action, and is patient with unusable replies."""

from __future__ import annotations

from collections.abc import Sequence

from webagent.agents.agent import AgentFailure, OutOfBudget
from webagent.agents.generic.asking import Questions
from webagent.agents.generic.history import Turn
from webagent.agents.generic.knowledge import knowledge_version
from webagent.agents.generic.prompt import Failed, Prompt, PromptMaker, PromptTooLong
from webagent.agents.generic.reply import Reply, UnusableReply, read_reply
from webagent.agents.generic.settings import AgentSettings
from webagent.llm.interface import FailureKind, LanguageModel, ModelFailure
from webagent.llm.registry import ModelEntry
from webagent.trajectory.live import Decision, Observation, Taken
from webagent.trajectory.records import AgentRecord, ErrorOrigin

NAME = "generic"
WAIT = "noop(1000)"

SAID_NOTHING_USABLE = (FailureKind.REFUSED, FailureKind.TRUNCATED)
"""The model answered, if not with an action: that is the agent's doing, not the provider's."""
SHORTER = 0.7
MAX_SHORTENINGS = 3


class GenericAgent:
    """One language model at one task. Make a new one for the next run."""

    def __init__(self, settings: AgentSettings, model: LanguageModel, entry: ModelEntry) -> None:
        self._settings = settings
        self._model = model
        self._entry = entry
        self._maker = PromptMaker(settings, entry)
        self._budget = self._maker.budget
        self._turns: list[Turn] = []

    def resume_from(self, history: Sequence[Taken]) -> None:
        """From now on exactly these steps lie behind, whoever took them."""
        self._turns = [
            Turn(step, taken.decision.action, taken.decision.thought, taken.error is not None)
            for step, taken in enumerate(history)
        ]

    def describe(self) -> AgentRecord:
        """All settings; the version says which prompts, and the hash of their file."""
        wording = self._settings.wording
        version = f"prompts {wording.version} ({wording.sha256[:12]})"
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
        self._learn(observation)
        questions = Questions(self._model, self._entry)
        failed: list[Failed] = []
        thought: str | None = None
        prompt: Prompt | None = None
        while len(failed) <= self._settings.max_parse_retries:
            prompt, said = self._ask(questions, observation, failed)
            try:
                reply = self._read(said, observation)
            except UnusableReply as unusable:
                questions.note(str(unusable))
                failed.append(Failed(said.text, str(unusable)))
                thought = unusable.thought or thought
            else:
                return self._decided(reply, questions, prompt)
        return self._gave_no_action(failed, thought, questions, prompt)

    def _learn(self, observation: Observation) -> None:
        """Know how the last action went, which only the page after it tells."""
        if observation.last_error and self._turns and self._turns[-1].action is not None:
            last = self._turns[-1]
            self._turns[-1] = Turn(last.step, last.action, last.thought, failed=True)

    def _ask(
        self, questions: Questions, observation: Observation, failed: Sequence[Failed]
    ) -> tuple[Prompt, Failed]:
        """The prompt, and what came back: a text, or a problem where the model broke off."""
        shortenings = 0
        prompt: Prompt | None = None
        while True:
            try:
                prompt = self._maker.prompt(observation, self._turns, failed, budget=self._budget)
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

    def _read(self, said: Failed, observation: Observation) -> Reply:
        if said.problem:
            raise UnusableReply(said.problem)
        bids = {node.bid for node in observation.nodes if node.bid} | set(observation.boxes)
        return read_reply(said.text, self._settings.reply, self._settings.allowed, bids)

    def _decided(self, reply: Reply, questions: Questions, prompt: Prompt) -> Decision:
        self._remember(reply.action, reply.thought)
        is_message = reply.call.name == "send_msg_to_user"
        return Decision(
            action=reply.action,
            thought=reply.thought,
            finished=is_message and self._settings.ends_with_message,
            gave_up=reply.call.name == "report_infeasible",
            llm_calls=tuple(questions.calls),
            blobs=questions.blobs,
            marked_screenshot=prompt.marked,
        )

    def _gave_no_action(
        self,
        failed: Sequence[Failed],
        thought: str | None,
        questions: Questions,
        prompt: Prompt | None,
    ) -> Decision:
        waits = self._settings.after_parse_failure == "wait"
        action = WAIT if waits else None
        self._remember(action, thought)
        return Decision(
            action=action,
            thought=thought,
            problem=f"No usable action in {len(failed)} replies: {failed[-1].problem}",
            llm_calls=tuple(questions.calls),
            blobs=questions.blobs,
            marked_screenshot=prompt.marked if prompt else None,
        )

    def _remember(self, action: str | None, thought: str | None) -> None:
        step = self._turns[-1].step + 1 if self._turns else 0
        self._turns.append(Turn(step, action, thought))


def _spent(questions: Questions, prompt: Prompt | None) -> Decision:
    """What a step that came to nothing has cost and asked."""
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
