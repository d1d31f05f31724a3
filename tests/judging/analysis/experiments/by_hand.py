"""The figures of an experiment as somebody works them out who has nothing but the exported file.

Written without a line of the program's own arithmetic, from the definitions in the documents.
"""

import json
import re
import zipfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime
from html.parser import HTMLParser
from itertools import combinations, product
from math import sqrt
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

Row = dict[str, Any]
NOT_COUNTED = ("error", "incomplete", "not_executable")


class Exported:
    """Runs and reference verdicts of a file; `kept` are the last attempts, the only ones scored."""

    def __init__(self, file: Path) -> None:
        with zipfile.ZipFile(file) as archive:
            self.runs = _lines(archive, "runs.jsonl")
            decided = _lines(archive, "adjudications.jsonl")
        tried_again = {run["retry_of"] for run in self.runs if run.get("retry_of")}
        self.kept = [run for run in self.runs if run["id"] not in tried_again]
        self.counted = [run for run in self.kept if run["outcome"] not in NOT_COUNTED]
        self.reference = {line["run_id"]: line["verdict"] for line in decided}
        self.agents = sorted({run["agent"]["name"] for run in self.runs})

    def of(self, agent: str, runs: Iterable[Row]) -> list[Row]:
        return [run for run in runs if run["agent"]["name"] == agent]


def check(client: Client, experiment: int, exported: Exported) -> None:
    """Every number of the page is the one worked out here.

    Raises:
        AssertionError: one is not.
    """
    rows = {row[0].split(" · ")[0]: row for row in _rows(client, experiment, "", "figures")}
    assert sorted(rows) == exported.agents
    for agent, row in rows.items():
        _check_configuration(row, agent, exported)
    _check_trials(_rows(client, experiment, "parts/trials/", "figures"), exported)
    _check_recovery(_rows(client, experiment, "parts/recovery/", "figures"), exported)
    if len(exported.agents) == 2:
        _check_pairs(_rows(client, experiment, "parts/pairs/", "two-by-two"), exported)


def _check_configuration(row: Sequence[str], agent: str, exported: Exported) -> None:
    from scipy.stats import t

    counted = exported.of(agent, exported.counted)
    rewards = [run["reward"] for run in counted if run.get("reward") is not None]
    n, p = len(rewards), sum(rewards) / len(rewards)
    _, accuracy, naive, by_task, shown_n, tasks, none, *left, time, cost, steps = row
    accuracy, wilson = accuracy.split("·")
    assert _percent(accuracy) == _close(p)
    z = 1.959964
    middle, half = p + z * z / (2 * n), z * sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    ends = [(middle + sign * half) / (1 + z * z / n) for sign in (-1, 1)]
    assert [number / 100 for number in _numbers(wilson)] == [_close(end) for end in ends]
    assert _percent(naive) == _close(sqrt(p * (1 - p) / n))
    spread = sum(sum(r - p for r in each) ** 2 for each in _by_task(counted).values())
    groups = len(_by_task(counted))
    error = sqrt(groups / (groups - 1) * spread) / n
    assert _percent(by_task) == _close(error)
    if groups < n:
        half = t.ppf(0.975, groups - 1) * error
        # Where all runs are alike there is none: without spread nothing says how wide it is.
        ends = [max(0.0, p - half), min(1.0, p + half)] if error else []
        assert [number / 100 for number in _numbers(by_task)[1:]] == [_close(end) for end in ends]
    assert _numbers(shown_n) == [n, sum(rewards), n - sum(rewards)]
    assert _numbers(none)[:1] == [len(counted) - n]
    assert _numbers(tasks) == [len({run["task_id"] for run in counted})]
    every = exported.of(agent, exported.runs)
    seconds = [run["totals"]["seconds"] for run in counted]
    wall = max(_moments(every, "ended_at")) - min(_moments(every, "started_at"))
    assert [_seconds(words) for words in time.split("|")] == [
        _rounded(sum(seconds) / len(seconds)),
        _rounded(wall.total_seconds()),
    ]
    costs = [float(run["totals"]["cost"]) for run in counted if "cost" in run["totals"]]
    if costs:
        known = [sum(costs) / len(costs), sum(costs)]
        assert _numbers(cost)[:2] == [pytest.approx(each, abs=0.005) for each in known]
    else:
        words = "unknown" if counted[0]["agent"].get("model") else "no model named"
        assert words in cost
    taken = [run["n_steps"] for run in counted]
    if any(taken):  # rows made for a test have none to be exported
        assert _numbers(steps) == [pytest.approx(sum(taken) / len(taken), abs=0.0501)]
    broken = len(exported.of(agent, exported.kept)) - len(counted)
    earlier = len(every) - len(exported.of(agent, exported.kept))
    numbers = [number for cell in left for number in _numbers(cell) if number]
    assert sorted(numbers) == sorted(number for number in (broken, earlier) if number)


def _check_trials(rows: Sequence[Sequence[str]], exported: Exported) -> None:
    """By looking at every way of drawing k trials of a task."""
    seen = set()
    for name, k_words, some, every, best, n_tasks, fewer in rows:
        agent, k = name.split(" · ")[0], int(k_words)
        decided = _decided(exported.of(agent, exported.counted))
        by_task: defaultdict[str, list[Row]] = defaultdict(list)
        for run in decided:
            by_task[run["task_id"]].append(run)
        draws = [list(combinations(each, k)) for each in by_task.values() if len(each) >= k]
        assert _percent(some) == _close(_mean_of(draws, lambda d: max(r["reward"] for r in d)))
        assert _percent(every) == _close(_mean_of(draws, lambda d: min(r["reward"] for r in d)))
        picked = _mean_of(draws, lambda draw: _picked(draw, exported.reference))
        assert _percent(best) == _close(picked)
        assert _numbers(n_tasks) == [len(draws)]
        assert _numbers(fewer) == [len(by_task) - len(draws)]
        seen.add((agent, k))
    most = max(run["trial"] for run in exported.counted)
    assert seen == set(product(exported.agents, range(1, most + 1)))


def _picked(draw: Sequence[Row], reference: dict[str, str]) -> float:
    """The reward to expect of the trial that people's verdict picks, at random where it cannot."""
    passed = [run for run in draw if reference.get(run["id"]) == "success"]
    among = passed or draw
    return float(sum(run["reward"] for run in among)) / len(among)


def _check_recovery(rows: Sequence[Sequence[str]], exported: Exported) -> None:
    for row in rows[: len(exported.agents)]:  # before the table of loops
        decided = _decided(exported.of(row[0].split(" · ")[0], exported.counted))
        won = [run for run in decided if run["reward"]]
        rescued = [run for run in won if _recoveries(run)]
        recovered = [run for run in decided if _recoveries(run)]
        alarmed = [run for run in decided if run.get("events")]
        assert _numbers(row[1]) == [len(won) - len(rescued)]
        assert _numbers(row[2]) == [len(rescued)]
        assert _numbers(row[3])[0] == pytest.approx(
            100 * (len(won) - len(rescued)) / len(decided), abs=0.0501
        )
        for cell, among in ((row[4], alarmed), (row[5], recovered)):
            if among:
                successes = sum(run["reward"] for run in among)
                assert _numbers(cell)[1:3] == [successes, len(among)]


def _check_pairs(rows: Sequence[Sequence[str]], exported: Exported) -> None:
    first, second = (
        {(run["task_id"], run["seed"]): run.get("reward") for run in exported.of(each, runs)}
        for runs in (exported.counted,)
        for each in exported.agents
    )
    counts = Counter((first[key], second[key]) for key in first.keys() & second.keys())
    shown = [_numbers(cell)[0] for row in rows for cell in row[1:]]
    wanted = [(1.0, 1.0), (0.0, 1.0), (1.0, 0.0), (0.0, 0.0)]
    assert shown == [counts[cell] for cell in wanted]


def _rows(client: Client, experiment: int, part: str, name: str) -> list[list[str]]:
    """The words in each cell of a table's body, small print behind a bar."""
    query = {"verdict": "reward", "selector": "reference"}
    page = client.get(f"/experiments/{experiment}/{part}", query, headers={"Accept-Language": "en"})
    assert page.status_code == 200
    reader = _TableReader(name)
    reader.feed(page.content.decode())
    return reader.rows


class _TableReader(HTMLParser):
    def __init__(self, name: str) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self._name = name
        self._is_in_table = self._is_in_body = self._is_in_cell = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "table":
            self._is_in_table = self._name in (dict(attrs).get("class") or "").split()
        self._is_in_body = (self._is_in_body or tag == "tbody") and self._is_in_table
        if self._is_in_body and tag == "tr":
            self.rows.append([])
        if self._is_in_body and tag in ("td", "th"):
            self.rows[-1].append("")
            self._is_in_cell = True
        if self._is_in_cell and tag == "span":
            self.rows[-1][-1] += " |"

    def handle_endtag(self, tag: str) -> None:
        if tag == "table":
            self._is_in_table = self._is_in_body = False
        self._is_in_cell = self._is_in_cell and tag not in ("td", "th")

    def handle_data(self, data: str) -> None:
        if self._is_in_cell:
            self.rows[-1][-1] = " ".join(f"{self.rows[-1][-1]} {data}".split())


def _lines(archive: zipfile.ZipFile, name: str) -> list[Row]:
    return [json.loads(line) for line in archive.read(name).splitlines()]


def _decided(runs: Iterable[Row]) -> list[Row]:
    return [run for run in runs if run.get("reward") is not None]


def _by_task(runs: Iterable[Row]) -> dict[str, list[float]]:
    found: defaultdict[str, list[float]] = defaultdict(list)
    for run in _decided(runs):
        found[run["task_id"]].append(run["reward"])
    return found


def _recoveries(run: Row) -> int:
    return int((run.get("extra") or {}).get("recovery", {}).get("recoveries", 0))


def _moments(runs: Iterable[Row], name: str) -> list[datetime]:
    return [datetime.fromisoformat(run[name]) for run in runs if run.get(name)]


def _mean_of(draws: Sequence[Sequence[Sequence[Row]]], figure: Any) -> float:
    of_tasks: list[float] = [sum(map(figure, each)) / len(each) for each in draws]
    return sum(of_tasks) / len(of_tasks)


def _numbers(words: str) -> list[float]:
    return [float(each.replace(",", "")) for each in re.findall(r"\d[\d,]*(?:\.\d+)?", words)]


def _percent(words: str) -> float:
    return _numbers(words)[0] / 100


def _close(share: float) -> Any:
    """As close as a percentage with one decimal can be."""
    return pytest.approx(share, abs=0.000501)


def _seconds(words: str) -> float:
    units = {"h": 3600, "min": 60, "s": 1}
    found = re.findall(r"(\d+(?:\.\d)?) (h|min|s)\b", words)
    return sum((float(number) * units[unit] for number, unit in found), 0.0)


def _rounded(seconds: float) -> Any:
    """As exact as durations are shown."""
    return pytest.approx(seconds, abs=0.0501 if seconds < 10 else 0.501 if seconds < 3600 else 31)
