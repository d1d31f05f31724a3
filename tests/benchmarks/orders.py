"""A page of orders to try agents on, small or large, as a suite of tasks that never end."""

import tempfile
from pathlib import Path
from typing import Any

from tests.webagent.made_up import PageTask, task_of
from webagent.environment.browser import BrowserSettings
from webagent.environment.browsergym_environment import BrowserGymEnvironment
from webagent.environment.registry import register_suite
from webagent.trajectory.records import TaskRecord

HOST = "orders.localhost"
ROWS = {"orders.small": 5, "orders.large": 250}
"""Orders on the page by task; each is a check box, a link and a button."""

_ROW = """<tr><td><input type="checkbox" aria-label="Order {n}"></td>
<td><a href="#order-{n}">Order {n} of 2026</a></td><td>{n}.00 EUR</td>
<td><button onclick="this.textContent = this.textContent + '.'">Ship {n}</button></td></tr>"""
_folder = tempfile.TemporaryDirectory(prefix="crosscheck-orders-")


class OrdersTask(PageTask):
    """Opens the page of its name."""

    viewport = {"width": 1280, "height": 720}
    timeout = 5000

    def __init__(self, seed: int, task: str) -> None:
        self._task = task

    def setup(self, page: Any) -> tuple[str, dict[str, Any]]:
        page.goto(f"http://{HOST}/{self._task}.html")
        return "Look after the orders.", {}


def use() -> None:
    """Have the suite at hand."""
    register_suite("orders", __name__)


def pages() -> Path:
    """The folder with one page for each task."""
    folder = Path(_folder.name)
    for task, rows in ROWS.items():
        table = "".join(_ROW.format(n=number) for number in range(rows))
        page = "<!doctype html><title>Orders</title><h1>Orders</h1><input aria-label='Find'>\n"
        (folder / f"{task}.html").write_text(f"{page}<table>{table}</table>")
    return folder


def environment(
    task_name: str, settings: BrowserSettings, step_timeout_s: float
) -> BrowserGymEnvironment:
    return BrowserGymEnvironment(
        OrdersTask,
        task_arguments={"task": task_name},
        sites={HOST: pages()},
        settings=settings,
        step_timeout_s=step_timeout_s,
    )


def task_record(task_name: str) -> TaskRecord:
    return task_of(task_name, "Look after the orders.")


def task_names() -> tuple[str, ...]:
    return tuple(ROWS)
