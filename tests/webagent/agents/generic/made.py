"""Settings, model entries and models without a network, for the generic agent's tests."""

from collections.abc import Callable

from webagent.agents.generic.agent import GenericAgent
from webagent.agents.settings import AgentSettings
from webagent.llm.interface import ModelFailure, Reply, Request, TextPart, Usage
from webagent.llm.registry import ModelEntry


def settings(**more: object) -> AgentSettings:
    return AgentSettings.model_validate({"model": "m"} | more)


def entry(**more: object) -> ModelEntry:
    prices = {"input": "2", "output": "10"}
    return ModelEntry.model_validate(
        {"name": "m", "provider": "openai", "model": "m-1", "prices": prices} | more
    )


class Scripted:
    """A model that says one thing after another, then the last one for ever."""

    def __init__(self, *said: str | ModelFailure | Callable[[Request], str]) -> None:
        self.said = list(said)
        self.asked: list[Request] = []

    def complete(self, request: Request) -> Reply:
        self.asked.append(request)
        said = self.said.pop(0) if len(self.said) > 1 else self.said[0]
        if isinstance(said, ModelFailure):
            raise said
        text = said if isinstance(said, str) else said(request)
        return Reply(text=text, model="m-1-served", usage=Usage(input_tokens=100, output_tokens=9))


def act(action: str, thought: str = "So it is.") -> str:
    return f"<thought>{thought}</thought>\n<action>{action}</action>"


def agent(model: Scripted, **more: object) -> GenericAgent:
    return GenericAgent(settings(**more), model, entry())


def text_of(request: Request, number: int = 0) -> str:
    """The text of one message."""
    parts = request.messages[number].parts
    return "".join(part.text for part in parts if isinstance(part, TextPart))


def whole(request: Request) -> str:
    return "\n".join((request.system, *(text_of(request, n) for n in range(len(request.messages)))))


def long_tree(n: int, target: str = "") -> str:
    """A page of `n` plain lines with a button behind every fiftieth; `target` at the very end."""
    lines = ["RootWebArea 'Long page', focused"]
    for index in range(n):
        lines.append(f"\tStaticText 'Line number {index} of a text that nobody asked for'")
        if index % 50 == 49:
            lines.append(f"\t[b{index}] button 'More {index}', clickable")
    if target:
        lines.append("\t[z0] group 'Last part'")
        lines.append(f"\t\t[z1] button '{target}', clickable")
    return "\n".join(lines)
