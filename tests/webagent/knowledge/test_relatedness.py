"""Which source a task gets at each relatedness."""

from __future__ import annotations

import pytest

from webagent.knowledge.entries import Relatedness
from webagent.knowledge.relevance import DescribedTask, Sources


def task(key: str, site: str, text: str) -> DescribedTask:
    return DescribedTask(key, frozenset({site}), text)


POOL = [
    task("orders-march", "shop", "Show the orders of March"),
    task("orders-may", "shop", "Show the orders of May"),
    task("refund", "shop", "Refund an invoice"),
    task("issue", "forge", "Close an issue"),
    task("show-orders", "forge", "Show the orders of merge requests"),
]
TARGET = task("orders-march", "shop", "Show the orders of March")


def key_of(target: DescribedTask, relatedness: Relatedness) -> str | None:
    chosen = Sources(POOL).choose(target, relatedness)
    return POOL[chosen.place].key if chosen else None


@pytest.mark.parametrize(
    ("relatedness", "expected"),
    [
        (Relatedness.SAME_TASK, "orders-march"),
        (Relatedness.SAME_SITE_HIGHEST, "orders-may"),
        (Relatedness.SAME_SITE_LOWEST, "refund"),
        (Relatedness.OTHER_SITE_LOWEST, "issue"),
    ],
)
def test_each_relatedness_has_one_source(relatedness: Relatedness, expected: str) -> None:
    assert key_of(TARGET, relatedness) == expected


def test_the_task_itself_is_a_source_for_the_same_task_alone() -> None:
    only = Sources([TARGET])

    assert only.choose(TARGET, Relatedness.SAME_TASK) is not None
    for relatedness in set(Relatedness) - {Relatedness.SAME_TASK}:
        assert only.choose(TARGET, relatedness) is None


def test_a_task_on_two_sites_is_neither_the_same_site_nor_another() -> None:
    both = DescribedTask("both", frozenset({"shop", "forge"}), "Show the orders")
    target = task("new", "shop", "Show the orders")

    for relatedness in set(Relatedness) - {Relatedness.SAME_TASK}:
        assert Sources([both]).choose(target, relatedness) is None


def test_among_equal_scores_the_draw_hangs_on_both_tasks_and_is_told() -> None:
    pool = [task(f"other-{n}", "forge", f"unlike{n}") for n in range(20)]
    sources = Sources(pool)
    targets = [task(f"task-{n}", "shop", "Refund an invoice") for n in range(20)]
    found = [sources.choose(each, Relatedness.OTHER_SITE_LOWEST) for each in targets]
    turned = Sources(pool[::-1])
    again = [turned.choose(each, Relatedness.OTHER_SITE_LOWEST) for each in targets]

    assert all(each is not None and each.n_tied == 20 and each.score == 0 for each in found)
    assert len({each.place for each in found if each}) > 5
    assert [pool[each.place].key for each in found if each] == [
        pool[::-1][each.place].key for each in again if each
    ]
