"""How a line of a log looks: for people, and for programs."""

from __future__ import annotations

import logging
from datetime import UTC, datetime
from typing import Any

from pythonjsonlogger.json import JsonFormatter

from webagent.logs.context import facts_now
from webagent.logs.redaction import redacted, without_secrets


class LineFormatter(logging.Formatter):
    """`LEVEL logger: what happened [fact=value …]`."""

    def formatMessage(self, record: logging.LogRecord) -> str:
        facts = " ".join(f"{name}={fact}" for name, fact in facts_now().items())
        return super().formatMessage(record) + (f" [{facts}]" if facts else "")

    def format(self, record: logging.LogRecord) -> str:
        return without_secrets(super().format(record))


class JsonLineFormatter(JsonFormatter):
    """One JSON object a line: time, level, logger, event, the facts around it, its own fields."""

    def add_fields(
        self,
        log_data: dict[str, Any],
        record: logging.LogRecord,
        message_dict: dict[str, Any],
    ) -> None:
        log_data |= {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "event": record.getMessage(),
            **facts_now(),
        }
        super().add_fields(log_data, record, message_dict)
        log_data.pop("message", None)

    def process_log_record(self, log_data: dict[str, Any]) -> dict[str, Any]:
        return {name: redacted(value, name) for name, value in log_data.items()}
