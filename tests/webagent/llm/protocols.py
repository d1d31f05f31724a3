"""The three protocols of the stub: how a request is read and a reply is written in each."""

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from tests.webagent.llm.stub import Answer

PIECE = 6
"""Characters of text in one event of a stream."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One request, in words that do not depend on the protocol."""

    path: str
    headers: Mapping[str, str]
    body: Any
    model: str
    system: str
    messages: tuple[tuple[str, str], ...]
    """Role and text of each, pictures left out."""
    images: tuple[bytes, ...]
    schema: Any
    """The JSON Schema of the reply, however it was asked for; None without."""
    is_stream: bool

    @property
    def text(self) -> str:
        """The text of the last message."""
        return self.messages[-1][1]


class WireProtocol(Protocol):
    def read(self, path: str, headers: Mapping[str, str], body: Any) -> Asked: ...
    def complaint(self, asked: Asked) -> str: ...
    def whole(self, asked: Asked, answer: "Answer") -> Any: ...
    def events(self, asked: Asked, answer: "Answer") -> list[tuple[str, Any]]: ...
    def error(self, status: int, message: str, error_type: str, code: str) -> Any: ...
    def stream_error(self, message: str) -> Any: ...


def _parts(content: Any) -> list[Any]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content)


def _texts(content: Any) -> str:
    return "".join(part.get("text", "") for part in _parts(content))


def _data_url(url: str) -> bytes:
    return base64.b64decode(url.partition(";base64,")[2], validate=True)


def _pieces(text: str) -> list[str]:
    return [text[start : start + PIECE] for start in range(0, len(text), PIECE)] or [""]


class _OpenAI:
    def complaint(self, asked: Asked) -> str:
        return ""

    def error(self, status: int, message: str, error_type: str, code: str) -> Any:
        kind = error_type or ("server_error" if status >= 500 else "invalid_request_error")
        return {"error": {"message": message, "type": kind, "param": None, "code": code or None}}


class Responses(_OpenAI):
    def read(self, path: str, headers: Mapping[str, str], body: Any) -> Asked:
        given = body["input"]
        messages = [{"role": "user", "content": given}] if isinstance(given, str) else given
        form = body.get("text", {}).get("format", {})
        return Asked(
            path=path,
            headers=headers,
            body=body,
            model=body["model"],
            system=body.get("instructions") or "",
            messages=tuple((item["role"], _texts(item["content"])) for item in messages),
            images=tuple(
                _data_url(part["image_url"])
                for item in messages
                for part in _parts(item["content"])
                if part["type"] == "input_image"
            ),
            schema=form.get("schema"),
            is_stream=bool(body.get("stream")),
        )

    def whole(self, asked: Asked, answer: "Answer") -> Any:
        kind = "refusal" if answer.is_refusal else "text"
        part: dict[str, Any] = {"type": "refusal", "refusal": answer.text}
        if kind == "text":
            part = {"type": "output_text", "text": answer.text, "annotations": []}
        status = "incomplete" if answer.is_cut_off else "completed"
        return {
            "id": "resp_stub",
            "object": "response",
            "created_at": 1_790_000_000,
            "model": answer.model or f"{asked.model}-as-served",
            "status": status,
            "error": None,
            "incomplete_details": {"reason": "max_output_tokens"} if answer.is_cut_off else None,
            "instructions": asked.system,
            "output": [
                {
                    "id": "msg_stub",
                    "type": "message",
                    "role": "assistant",
                    "status": status,
                    "content": [part],
                }
            ],
            "parallel_tool_calls": False,
            "tool_choice": "auto",
            "tools": [],
            "usage": {
                "input_tokens": answer.input_tokens,
                "input_tokens_details": {"cached_tokens": answer.cached_tokens},
                "output_tokens": answer.output_tokens,
                "output_tokens_details": {"reasoning_tokens": 0},
                "total_tokens": (answer.input_tokens or 0) + (answer.output_tokens or 0),
            },
        }

    def events(self, asked: Asked, answer: "Answer") -> list[tuple[str, Any]]:
        whole = self.whole(asked, answer)
        started = whole | {"status": "in_progress", "output": [], "usage": None}
        kind = "refusal" if answer.is_refusal else "output_text"
        place = {"item_id": "msg_stub", "output_index": 0, "content_index": 0}
        events: list[dict[str, Any]] = [
            {"type": "response.created", "response": started},
            {
                "type": "response.output_item.added",
                "output_index": 0,
                "item": whole["output"][0] | {"content": [], "status": "in_progress"},
            },
            *(
                {"type": f"response.{kind}.delta", **place, "delta": piece, "logprobs": []}
                for piece in _pieces(answer.text)
            ),
            {"type": f"response.{whole['status']}", "response": whole},
        ]
        return [
            (event["type"], event | {"sequence_number": number})
            for number, event in enumerate(events)
        ]

    def stream_error(self, message: str) -> Any:
        return {
            "type": "error",
            "code": "server_error",
            "message": message,
            "param": None,
            "sequence_number": 9,
        }


class Chat(_OpenAI):
    def read(self, path: str, headers: Mapping[str, str], body: Any) -> Asked:
        messages = body["messages"]
        form = body.get("response_format") or {}
        return Asked(
            path=path,
            headers=headers,
            body=body,
            model=body["model"],
            system="".join(_texts(item["content"]) for item in messages if _is_system(item)),
            messages=tuple(
                (item["role"], _texts(item["content"])) for item in messages if not _is_system(item)
            ),
            images=tuple(
                _data_url(part["image_url"]["url"])
                for item in messages
                for part in _parts(item["content"])
                if part["type"] == "image_url"
            ),
            schema=form.get("json_schema", {}).get("schema"),
            is_stream=bool(body.get("stream")),
        )

    def whole(self, asked: Asked, answer: "Answer") -> Any:
        text, refusal = (None, answer.text) if answer.is_refusal else (answer.text, None)
        return {
            "id": "chatcmpl-stub",
            "object": "chat.completion",
            "created": 1_790_000_000,
            "model": answer.model or f"{asked.model}-as-served",
            "choices": [
                {
                    "index": 0,
                    "message": {"role": "assistant", "content": text, "refusal": refusal},
                    "finish_reason": "length" if answer.is_cut_off else "stop",
                    "logprobs": None,
                }
            ],
            "usage": self._usage(answer),
        }

    def _usage(self, answer: "Answer") -> Any:
        return {
            "prompt_tokens": answer.input_tokens,
            "completion_tokens": answer.output_tokens,
            "total_tokens": (answer.input_tokens or 0) + (answer.output_tokens or 0),
            "prompt_tokens_details": {"cached_tokens": answer.cached_tokens},
        }

    def events(self, asked: Asked, answer: "Answer") -> list[tuple[str, Any]]:
        whole = self.whole(asked, answer)
        name = "refusal" if answer.is_refusal else "content"
        deltas = [{"role": "assistant", "content": ""}]
        deltas += [{name: piece} for piece in _pieces(answer.text)]
        frame = {key: whole[key] for key in ("id", "created", "model")}
        frame["object"] = "chat.completion.chunk"
        chunks = [
            frame | {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
            for delta in deltas
        ]
        reason = whole["choices"][0]["finish_reason"]
        chunks.append(frame | {"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
        if asked.body.get("stream_options", {}).get("include_usage"):
            chunks.append(frame | {"choices": [], "usage": whole["usage"]})
        return [("", chunk) for chunk in chunks] + [("", b"[DONE]")]

    def stream_error(self, message: str) -> Any:
        return self.error(500, message, "server_error", "")


def _is_system(message: Any) -> bool:
    return message["role"] in ("system", "developer")


_ANTHROPIC_ERRORS = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    529: "overloaded_error",
}


class Messages:
    def read(self, path: str, headers: Mapping[str, str], body: Any) -> Asked:
        messages = body["messages"]
        form = body.get("output_config", {}).get("format", {})
        tool: Any = next(iter(body.get("tools", [])), {})
        return Asked(
            path=path,
            headers=headers,
            body=body,
            model=body["model"],
            system=_texts(body.get("system", "")),
            messages=tuple((item["role"], _texts(item["content"])) for item in messages),
            images=tuple(
                base64.b64decode(part["source"]["data"], validate=True)
                for item in messages
                for part in _parts(item["content"])
                if part["type"] == "image"
            ),
            schema=form.get("schema") or tool.get("input_schema"),
            is_stream=bool(body.get("stream")),
        )

    def complaint(self, asked: Asked) -> str:
        """What the real one says of sampling parameters since its version 2026-10-21."""
        new = asked.headers.get("anthropic-version", "") >= "2026-10-21"
        return (
            "temperature: Extra inputs are not permitted"
            if new and "temperature" in asked.body
            else ""
        )

    def whole(self, asked: Asked, answer: "Answer") -> Any:
        reason = "end_turn"
        part: dict[str, Any] = {"type": "text", "text": answer.text}
        if asked.body.get("tools") and not answer.is_refusal:
            reason = "tool_use"
            part = {
                "type": "tool_use",
                "id": "toolu_stub",
                "name": asked.body["tools"][0]["name"],
                "input": _object(answer.text),
            }
        if answer.is_refusal:
            reason = "refusal"
        if answer.is_cut_off:
            reason = "max_tokens"
        return {
            "id": "msg_stub",
            "type": "message",
            "role": "assistant",
            "model": answer.model or f"{asked.model}-as-served",
            "content": [part],
            "stop_reason": reason,
            "stop_sequence": None,
            "stop_details": (
                {"type": "refusal", "category": None, "explanation": "as told"}
                if answer.is_refusal
                else None
            ),
            "usage": {
                "input_tokens": (
                    (answer.input_tokens or 0) - answer.cached_tokens - answer.cache_write_tokens
                ),
                "cache_read_input_tokens": answer.cached_tokens,
                "cache_creation_input_tokens": answer.cache_write_tokens,
                "output_tokens": answer.output_tokens,
            },
        }

    def events(self, asked: Asked, answer: "Answer") -> list[tuple[str, Any]]:
        whole = self.whole(asked, answer)
        part = whole["content"][0]
        begun = {"stop_reason": None, "content": [], "usage": whole["usage"] | {"output_tokens": 1}}
        if part["type"] == "tool_use":
            empty = part | {"input": {}}
            deltas = [
                {"type": "input_json_delta", "partial_json": piece}
                for piece in _pieces(json.dumps(part["input"]))
            ]
        else:
            empty = {"type": "text", "text": ""}
            deltas = [{"type": "text_delta", "text": piece} for piece in _pieces(answer.text)]
        stop = {key: whole[key] for key in ("stop_reason", "stop_sequence", "stop_details")}
        events: list[dict[str, Any]] = [
            {"type": "message_start", "message": whole | begun},
            {"type": "content_block_start", "index": 0, "content_block": empty},
            {"type": "ping"},
            *({"type": "content_block_delta", "index": 0, "delta": delta} for delta in deltas),
            {"type": "content_block_stop", "index": 0},
            {
                "type": "message_delta",
                "delta": stop,
                "usage": {"output_tokens": whole["usage"]["output_tokens"]},
            },
            {"type": "message_stop"},
        ]
        return [(event["type"], event) for event in events]

    def error(self, status: int, message: str, error_type: str, code: str) -> Any:
        kind = error_type or _ANTHROPIC_ERRORS.get(status, "api_error")
        return {"type": "error", "error": {"type": kind, "message": message}}

    def stream_error(self, message: str) -> Any:
        return self.error(529, message, "overloaded_error", "")


def _object(text: str) -> Any:
    """The input of a tool is always an object: other text is put into one."""
    try:
        value = json.loads(text)
    except ValueError:
        value = None
    return value if isinstance(value, dict) else {"text": text}


PROTOCOLS: dict[str, WireProtocol] = {
    "/v1/responses": Responses(),
    "/v1/chat/completions": Chat(),
    "/v1/messages": Messages(),
}
