"""Study files as tests write them."""

import io
from pathlib import Path

from django.core.management import call_command

from judging.models import Replication
from judging.replication.reports import ReplicationFacts
from judging.replication.services import take_up

HEAD = """
format = "crosscheck-study/1"
name = "{name}"
[paper]
title = "A study"
"""
MATRIX = """
[[tables]]
key = "matrix"
title = "Verdicts before and after"
place = "Table 1"
report = "matrices"
columns = [{ key = "tp" }, { key = "fn" }, { key = "tn" }, { key = "fp" }]
[[tables.rows]]
name = "before"
judging = "before"
select = { evaluator = "before" }
published = { tp = 23, fn = 16, tn = 36, fp = 0 }
[[tables.rows]]
name = "after"
judging = "after"
select = { evaluator = "after" }
published = { tp = 40, fn = 1, tn = 34, fp = 0 }

[[tables]]
key = "share"
title = "FN share"
place = "Section 4.2"
report = "figures"
select = { figure = "fn_share" }
columns = [{ key = "share", name = "FN share", column = "value", unit = "percent" }]
[[tables.rows]]
name = "before"
judging = "before"
select = { evaluator = "before" }
published = { share = { value = 21.3, of = 75 } }
[[tables.rows]]
name = "after"
judging = "after"
select = { evaluator = "after" }
published = { share = 1.3 }
"""
JUDGED = """
[judging.before]
study = "WebArena sample"
[judging.before.paper]
annotators = 2
runs = 75
judge_model = "gpt-4"
[judging.after]
study = "WebArena sample, repaired"
"""


def text(*parts: str, name: str = "a study") -> str:
    """A whole file of these parts."""
    return HEAD.format(name=name) + "".join(parts)


NEC = text(JUDGED, MATRIX)


def taken_up(content: str, file_name: str = "study.toml") -> Replication:
    return take_up(content=content.encode(), file_name=file_name, user=None)


def facts_of(content: str) -> ReplicationFacts:
    return ReplicationFacts(taken_up(content))


def replicate(file: Path, *arguments: str) -> str:
    """What the command says of a study file."""
    out = io.StringIO()
    call_command("replicate", str(file), *arguments, stdout=out)
    return out.getvalue()


def rows_of(facts: ReplicationFacts, name: str) -> list[dict[str, object]]:
    """The rows of a report by the keys of its files."""
    report = facts.report(name)
    keys = [column.key for column in report.header]
    return [dict(zip(keys, row, strict=True)) for row in report.values]
