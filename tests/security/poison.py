"""Hostile strings in every text that the database holds."""

import itertools
import json
import re
from collections.abc import Collection, Iterator
from typing import Any

from django.apps import apps
from django.db import connection, models

from judging.models import Replication
from judging.replication.study_file import read_study_file
from runs.models.triggers import remove_guards
from tests.security.payloads import PAYLOADS

NOT_WORDS = {
    # Hashes, keys, addresses within the system and names of program parts, none of which is taken
    # from outside as it comes.
    *("sha256", "content_hash", "config_hash", "body_hash", "patch_hash", "recipe_hash"),
    *(
        "prompt_hash",
        "rule",
        "digest",
        "prefix",
        "request_hash",
        "idempotency_key",
        "password",
        "path",
    ),
    *("key", "media_type", "compressed", "kind", "worker", "lease_owner", "thumbnail"),
}
SAY_NO_WHEN_EMPTY = {"infeasible_reason"}
"""With words in them, what they are about would be left out of every figure, and of most pages."""
HIDDEN_WORDS = ("zq-", "zd-")
"""By these the world's own strings inside JSON are known."""
IN_STUDY_FILE = re.compile(r'(?<!\w)(name|title|place) = "[^"\n]*"')
"""Words of a study file that are free: what is stored is a file that was read, whatever it says."""
_numbers = itertools.count()


def poison(spared: Collection[models.Model] = ()) -> int:
    """Put hostile strings into every text column, and into the words inside JSON; how many rows.

    Args:
        spared: rows that stay, since by their words the program knows what they are.
    """
    remove_guards()
    rows = 0
    there = connection.introspection.table_names()
    for model in [*apps.get_app_config("runs").get_models(), *_of_judging()]:
        if model._meta.db_table not in there:
            continue
        for row in model._base_manager.all():
            changes = {} if row in spared else dict(_changes(row))
            if changes:
                rows += models.QuerySet(model).filter(pk=row.pk).update(**changes)
    return rows


def _of_judging() -> Iterator[type[models.Model]]:
    return apps.get_app_config("judging").get_models()


def _changes(row: models.Model) -> Iterator[tuple[str, Any]]:
    for field in row._meta.concrete_fields:
        value = getattr(row, field.attname)
        if field.name in NOT_WORDS or field.choices or field.primary_key or field.is_relation:
            continue
        if field.name in SAY_NO_WHEN_EMPTY and not value:
            continue
        if isinstance(row, Replication) and field.name == "content":
            yield field.name, _study_file(row.content)
        elif isinstance(field, models.CharField | models.TextField):
            yield field.name, hostile(field.max_length)
        elif isinstance(field, models.JSONField) and value:
            poisoned = _inside(value)
            if poisoned != value:
                yield field.name, poisoned


def hostile(length: int | None) -> str:
    """So many characters of payloads, each time beginning with another one; unlike all before."""
    start = next(_numbers)
    if length is None:
        return "\n".join(PAYLOADS)
    text = f"{PAYLOADS[start % len(PAYLOADS)]}{start}"
    for number in range(1, len(PAYLOADS)):
        more = f"{text} {PAYLOADS[(start + number) % len(PAYLOADS)]}"
        if len(more) > length:
            break
        text = more
    return text[:length] if length > 12 else f"\"'><zx {start}"[:length]


def _study_file(content: str) -> str:
    """The file with hostile strings for its free words; one that can still be read."""

    def words(found: re.Match[str]) -> str:
        return f"{found[1]} = {json.dumps(hostile(120), ensure_ascii=False)}"

    poisoned = IN_STUDY_FILE.sub(words, content)
    read_study_file(poisoned.encode(), "poisoned.toml")
    return poisoned


def _inside(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _inside(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_inside(item) for item in value]
    if isinstance(value, str) and any(word in value for word in HIDDEN_WORDS):
        return hostile(2000)
    return value
