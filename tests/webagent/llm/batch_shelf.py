"""The batch APIs of the stub: files and batches of OpenAI, message batches of Anthropic.

A batch is at work when it is first asked for and has ended the second time. Its requests get the
stub's usual answers; one whose text is "expire" runs out of time.
"""

import json
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from tests.webagent.llm.protocols import PROTOCOLS

if TYPE_CHECKING:
    from tests.webagent.llm.stub import LLMStub

Sent = tuple[int, bytes]


class BatchShelf:
    def __init__(self, stub: "LLMStub") -> None:
        self._stub = stub
        self._files: dict[str, bytes] = {}
        self._batches: dict[str, dict[str, Any]] = {}

    def answer(self, method: str, path: str, headers: Mapping[str, str], content: bytes) -> Sent:
        routes: dict[str, Callable[..., Sent]] = {
            r"POST /v1/files": lambda: self._put_file(content),
            r"GET /v1/files/(\w+)/content": self._file,
            r"POST /v1/batches": lambda: self._openai_batch(json.loads(content)),
            r"GET /v1/batches/(\w+)": self._openai_progress,
            r"POST /v1/messages/batches": lambda: self._anthropic_batch(json.loads(content)),
            r"GET /v1/messages/batches/(\w+)": self._anthropic_progress,
            r"GET /v1/messages/batches/(\w+)/results": self._anthropic_results,
        }
        for pattern, answer in routes.items():
            if found := re.fullmatch(pattern, f"{method} {path}"):
                return answer(*found.groups())
        return 404, b'{"error": {"message": "no such address", "type": "not_found_error"}}'

    def _put_file(self, content: bytes) -> Sent:
        """The one file of a form: what stands between its part's head and the next boundary."""
        boundary = content.split(b"\r\n", 1)[0]
        part = next(part for part in content.split(boundary) if b"filename=" in part)
        name = f"file{len(self._files)}"
        self._files[name] = part.split(b"\r\n\r\n", 1)[1].rstrip(b"\r\n")
        return _json({"id": name, "object": "file", "purpose": "batch"})

    def _file(self, name: str) -> Sent:
        return 200, self._files[name]

    def _openai_batch(self, asked: Any) -> Sent:
        lines = [json.loads(line) for line in self._files[asked["input_file_id"]].splitlines()]
        return self._open(
            [(line["custom_id"], asked["endpoint"], line["body"]) for line in lines],
            endpoint=asked["endpoint"],
        )

    def _anthropic_batch(self, asked: Any) -> Sent:
        requests = [(one["custom_id"], "/v1/messages", one["params"]) for one in asked["requests"]]
        return self._open(requests)

    def _open(self, requests: list[Any], **more: str) -> Sent:
        name = f"batch{len(self._batches)}"
        self._batches[name] = {"requests": requests, "polls": 0, "results": [], **more}
        return _json(self._described(name))

    def _described(self, name: str) -> dict[str, Any]:
        batch = self._batches[name]
        return {
            "id": name,
            "object": "batch",
            "type": "message_batch",
            "status": "in_progress",
            "processing_status": "in_progress",
            "request_counts": {"processing": len(batch["requests"])}
            | dict.fromkeys(("succeeded", "errored", "canceled", "expired", "failed"), 0)
            | {"total": len(batch["requests"]), "completed": 0},
        }

    def cancel(self, name: str) -> None:
        """As somebody does at the provider's console."""
        self._batches[name]["is_cancelled"] = True

    def _results(self, name: str) -> list[Any]:
        """Custom id, kind, protocol, what was asked and what is answered; in the reverse order."""
        batch = self._batches[name]
        if not batch["results"]:
            for custom_id, path, body in batch["requests"]:
                protocol = PROTOCOLS[path]
                asked = protocol.read(path, {}, body)
                if batch.get("is_cancelled"):
                    batch["results"].insert(0, (custom_id, "canceled", None))
                elif asked.text == "expire":
                    batch["results"].insert(0, (custom_id, "expired", None))
                else:
                    answer = self._stub.take(asked).counted(json.dumps(body).encode())
                    if answer.status == 200:
                        result = ("succeeded", protocol.whole(asked, answer))
                    else:
                        words = (answer.text, answer.error_type, answer.error_code)
                        error = protocol.error(answer.status, *words)
                        result = ("errored", (answer.status, error))
                    batch["results"].insert(0, (custom_id, *result))
        return list(batch["results"])

    def _openai_progress(self, name: str) -> Sent:
        batch = self._batches[name]
        batch["polls"] += 1
        described = self._described(name)
        if batch["polls"] < 2:
            return _json(described)
        good, bad = [], []
        for custom_id, kind, what in self._results(name):
            line = {"custom_id": custom_id, "response": None, "error": None}
            if kind == "succeeded":
                line["response"] = {"status_code": 200, "request_id": "req_batch", "body": what}
                good.append(line)
            elif kind == "errored":
                line["response"] = {"status_code": what[0], "body": what[1]}
                bad.append(line)
            else:
                words = {"expired": "batch_expired", "canceled": "batch_cancelled"}
                line["error"] = {"code": words[kind], "message": "as told"}
                bad.append(line)
        described["status"] = "cancelled" if batch.get("is_cancelled") else "completed"
        described["request_counts"] = {
            "total": len(good) + len(bad),
            "completed": len(good),
            "failed": len(bad),
        }
        for field, lines in (("output_file_id", good), ("error_file_id", bad)):
            if lines:
                described[field] = f"{name}{field}"
                self._files[described[field]] = b"\n".join(json.dumps(x).encode() for x in lines)
        return _json(described)

    def _anthropic_progress(self, name: str) -> Sent:
        batch = self._batches[name]
        batch["polls"] += 1
        described = self._described(name)
        if batch["polls"] < 2:
            return _json(described)
        kinds = [kind for _, kind, _ in self._results(name)]
        described["processing_status"] = "ended"
        described["results_url"] = f"{self._stub.url}/v1/messages/batches/{name}/results"
        described["request_counts"] = {"processing": 0} | {
            kind: kinds.count(kind) for kind in ("succeeded", "errored", "canceled", "expired")
        }
        return _json(described)

    def _anthropic_results(self, name: str) -> Sent:
        lines = []
        for custom_id, kind, what in self._results(name):
            result: dict[str, Any] = {"type": kind}
            if kind == "succeeded":
                result["message"] = what
            if kind == "errored":
                result["error"] = what[1]
            lines.append(json.dumps({"custom_id": custom_id, "result": result}))
        return 200, "\n".join(lines).encode()


def _json(value: Any) -> Sent:
    return 200, json.dumps(value).encode()
