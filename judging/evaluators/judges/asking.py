"""Asking a model: forms of its replies, what a request will take, and a repair attempt."""

import io
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cache
from math import ceil
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from PIL import Image, UnidentifiedImageError
from pydantic import BaseModel, ConfigDict

from judging.evaluators.judges.outcome import INVALID_REPLY, Stage, StageName, total_cost
from judging.evaluators.judges.prompts import Fenced, JudgeSettings, Prompt, load_prompt
from judging.evaluators.matching.outcome import Verdict
from webagent.llm.interface import ImagePart, LanguageModel, Message, ModelFailure, Reply, Request
from webagent.llm.untrusted import InvalidReplyError

Value = TypeVar("Value")
Settings = TypeVar("Settings", bound=JudgeSettings)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer(Generic[Value]):
    """The answer to a question: a value, or an error; and a stage with its cost."""

    value: Value | None
    stage: Stage
    text: str = ""


def ask(
    language_model: LanguageModel,
    request: Request,
    read: Callable[[str], Value],
    *,
    name: StageName,
    prompt: Prompt,
    repair: str | None = "json",
) -> Answer[Value]:
    """Ask, and read the reply; where it cannot be read, say what is wrong and ask once more.

    Args:
        read: gives the value of a reply's text or raises InvalidReplyError.
        repair: the prompt of the second attempt; None for none.
    """
    stage = Stage(
        name=name,
        verdict=Verdict.ERROR,
        prompt=prompt.name,
        prompt_hash=prompt.sha256,
        cost=Decimal(0),
        is_cached=True,
        asks=0,
    )
    problem = ""
    text = ""
    for attempt in range(1 if repair is None else 2):
        if attempt and repair is not None:
            request = _again(request, text, problem, repair)
        try:
            reply = language_model.complete(request)
        except ModelFailure as failure:
            return Answer(value=None, stage=_failed(stage, failure), text=failure.text)
        stage, text = _with_reply(stage, reply), reply.text
        try:
            return Answer(value=read(text), stage=stage, text=text)
        except InvalidReplyError as error:
            problem = str(error)
    failed = replace(stage, error_kind=INVALID_REPLY, error=problem, reply=text)
    return Answer(value=None, stage=failed, text=text)


class StrictForm(BaseModel):
    """What a reply holds: exactly these members in this order, each of exactly its type."""

    model_config = ConfigDict(extra="forbid", strict=True)


class ReplyForm(Protocol):
    """What every reply with a verdict says.

    `control` shows whether it followed an instruction that stood in the texts.
    """

    rationale: str
    steering: bool
    control: str


Form = TypeVar("Form", bound=ReplyForm)


@dataclass(frozen=True, slots=True)
class FencedRequest:
    """A request, its prompt, and the texts in it with the canary that tells who follows them."""

    request: Request
    prompt: Prompt
    fenced: Fenced


@dataclass(frozen=True, slots=True, kw_only=True)
class Judge(Generic[Settings]):
    """A model, and how it is asked. Equal questions are equal requests."""

    settings_type: ClassVar[type[JudgeSettings]]

    language_model: LanguageModel
    settings: Settings

    def prompt(self, file: str) -> Prompt:
        """The prompt of that name, in the version that is set."""
        return load_prompt(self.settings.family, self.settings.prompts, file)

    def request(
        self,
        prompt: Prompt,
        message: Message,
        form: type[StrictForm] | None = None,
        name: str = "reply",
    ) -> Request:
        """The message under the prompt's system text, to be answered by the form of that name."""
        return Request(
            model=self.settings.model,
            messages=(message,),
            system=prompt.system,
            schema=None if form is None else schema_of(form),
            schema_name=name,
            max_tokens=self.settings.max_tokens,
            temperature=self.settings.temperature,
        )

    def fenced_request(
        self,
        file: str,
        fenced: Fenced,
        form: type[StrictForm] | None = None,
        name: str = "reply",
        plain: Mapping[str, str] | None = None,
    ) -> FencedRequest:
        """The prompt of that name filled with the fenced texts; the `plain` ones have no fence."""
        prompt = self.prompt(file)
        texts = {**fenced.blocks, "remarks": fenced.remarks, "fence": fenced.mark, **(plain or {})}
        message = Message.user(prompt.filled(**texts))
        return FencedRequest(self.request(prompt, message, form, name), prompt, fenced)

    def ask_form(
        self, asked: FencedRequest, read: Callable[[str], Form], *, name: StageName
    ) -> tuple[Stage, Form | None]:
        """The stage, without a verdict yet, and the reply; None where none is usable.

        The stage of a judge that followed an instruction of the texts says so.
        """
        answer = ask(self.language_model, asked.request, read, name=name, prompt=asked.prompt)
        form = answer.value
        if form is None:
            return answer.stage, None
        stage = replace(answer.stage, rationale=form.rationale, steering=form.steering)
        obeyed = asked.fenced.canary in form.control.lower()
        return stage.manipulated() if obeyed else stage, form


def _again(request: Request, text: str, problem: str, repair: str) -> Request:
    wording = load_prompt("repair", "1", repair)
    # Providers refuse messages without text.
    replied = Message.assistant(text.strip() or "(nothing)")
    asked = Message.user(wording.filled(problem=problem))
    return replace(request, messages=(*request.messages, replied, asked))


def _with_reply(stage: Stage, reply: Reply) -> Stage:
    return replace(
        stage,
        model=reply.model,
        input_tokens=stage.input_tokens + reply.usage.input_tokens,
        output_tokens=stage.output_tokens + reply.usage.output_tokens,
        cost=total_cost([stage.cost, reply.cost]),
        seconds=stage.seconds + reply.seconds,
        is_cached=stage.is_cached and reply.is_cached,
        asks=stage.asks + 1,
    )


def _failed(stage: Stage, failure: ModelFailure) -> Stage:
    spent = failure.usage.input_tokens + failure.usage.output_tokens
    free = not spent and not failure.may_be_billed
    return replace(
        stage,
        input_tokens=stage.input_tokens + failure.usage.input_tokens,
        output_tokens=stage.output_tokens + failure.usage.output_tokens,
        cost=stage.cost if free else None,
        is_cached=False,
        asks=stage.asks + 1,
        error_kind=failure.kind.value,
        error=str(failure),
        reply=failure.text,
    )


@cache
def schema_of(form: type[StrictForm]) -> Mapping[str, object]:
    """The form's JSON schema, whole in one place: all members required, without limits.

    What else a form checks, providers hold no model to.
    """
    whole = form.model_json_schema()

    def narrow(part: dict[str, Any]) -> dict[str, object]:
        if "$ref" in part:
            return narrow(whole["$defs"][part["$ref"].rpartition("/")[2]])
        narrowed: dict[str, object] = {key: part[key] for key in ("type", "enum") if key in part}
        if part["type"] == "array":
            narrowed["items"] = narrow(part["items"])
        if part["type"] == "object":
            members = {name: narrow(each) for name, each in part["properties"].items()}
            narrowed |= {"properties": members, "required": list(members)}
            narrowed["additionalProperties"] = False
        return narrowed

    return narrow(whole)


BYTES_PER_TOKEN = 3
"""English has about four bytes of UTF-8 to a token, Japanese three: rather too many than few."""
PIXELS_PER_TOKEN = 750
"""What Anthropic documents for pictures; OpenAI's tiles come to less for the sizes sent here."""
UNREADABLE_PICTURE = 1600
PER_MESSAGE = 8


def tokens_of(requests: Sequence[Request]) -> tuple[int, int]:
    """Input tokens, roughly, and output tokens at most, of all requests together."""
    return sum(map(_input_tokens, requests)), sum(each.max_tokens for each in requests)


def _input_tokens(request: Request) -> int:
    tokens = _of_text(request.system) + PER_MESSAGE
    if request.schema is not None:
        tokens += _of_text(json.dumps(request.schema))
    for message in request.messages:
        tokens += PER_MESSAGE
        for part in message.parts:
            tokens += _of_picture(part) if isinstance(part, ImagePart) else _of_text(part.text)
    return tokens


def _of_text(text: str) -> int:
    return ceil(len(text.encode("utf-8", "surrogatepass")) / BYTES_PER_TOKEN)


def _of_picture(picture: ImagePart) -> int:
    try:
        with Image.open(io.BytesIO(picture.data)) as image:
            return ceil(image.width * image.height / PIXELS_PER_TOKEN)
    except (UnidentifiedImageError, OSError):
        return UNREADABLE_PICTURE
