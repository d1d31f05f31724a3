"""Which runs stand on a page of the runs table, in any of its orders, and how many there are."""

from dataclasses import replace

from django.db import connection
from django.db.models import Q

from runs.interface.keyset import AGES, Cursor, KeyPage, Keyset, Lead
from runs.interface.paging import PER_PAGE, RowCount, count_rows
from runs.models.runs.queries import GoalStart
from runs.viewer.run_list.filters import RunFilter

COUNTED_AT_ONCE = 250
"""Up to so many runs are counted before the page is shown; it asks for the rest afterwards.

Those that match lie far apart among many: a thousand of 100,000 take 3 ms.
"""
NEWEST_FIRST = "-created"
AGE_ELSEWHERE = ("age_elsewhere", "key_elsewhere")
"""A filter may annotate a run's `created_at` and key under these names, as a table that it joins
keeps them too: the list is then read in the order of that table's index.
"""


def run_keyset(found: RunFilter, sort: str, visible: Q | None = None) -> Keyset:
    """The runs that match in the order of a column; `created` is their age alone.

    Args:
        sort: the column's name, with `-` where it falls.
        visible: some of those that the viewer may see; all, unless given.
    """
    rows = found.qs if visible is None else found.matching.filter(visible)
    every = found.every
    name = sort.removeprefix("-")
    if name == "goal":
        rows, every = (runs.annotate(goal_start=GoalStart("goal")) for runs in (rows, every))
    anonymous = found.visibility.anonymous
    leads = {
        "goal": Lead("goal_start"),
        "n_steps": Lead("n_steps"),
        "seconds": Lead("seconds", nullable=True),
        "cost": Lead("cost", flag="" if anonymous is None else "is_anonymous", nullable=True),
    }
    lead = leads.get(name)
    is_elsewhere = lead is None and set(AGE_ELSEWHERE) <= set(rows.query.annotations)
    return Keyset(
        rows.order_by(),
        every,
        lead=lead,
        falls=sort.startswith("-"),
        ages=AGE_ELSEWHERE if is_elsewhere else AGES,
    )


def page_of(
    found: RunFilter, order: str, cursor: Cursor | None, *, is_filtered: bool
) -> tuple[KeyPage, RowCount]:
    """The page beside the cursor, or the first, and how many runs are on all pages."""
    visibility = found.visibility
    if visibility.visible and cursor is None:
        return _first_page(found, order)
    some = next(visibility.widened(newest_first=False)) if visibility.visible else visibility
    listed = run_keyset(found, order, some.visible)
    is_first = cursor is None and order == NEWEST_FIRST
    if is_first and _are_counted_at_once(found, is_filtered=is_filtered):
        return listed.first_of(PER_PAGE, COUNTED_AT_ONCE)
    rows = found.matching.filter(some.visible)
    count = count_rows(rows, may_estimate=visibility.is_whole, most=COUNTED_AT_ONCE)
    # No index has a filter together with a column that sorts.
    is_long = not visibility.visible and count.number == COUNTED_AT_ONCE
    return listed.page(cursor, PER_PAGE, are_common=is_filtered and is_long), count


def _first_page(found: RunFilter, order: str) -> tuple[KeyPage, RowCount]:
    """For somebody who sees only part: of the newest runs, where these fill a page."""
    visibility = found.visibility
    for some in visibility.widened(newest_first=order == NEWEST_FIRST):
        listed = run_keyset(found, order, some.visible)
        page, count = listed.first_of(PER_PAGE, COUNTED_AT_ONCE)
        if page.next:
            break
    return page, replace(count, is_more=count.is_more or some.lacks_older)


def _are_counted_at_once(found: RunFilter, *, is_filtered: bool) -> bool:
    """Whether one query may count as well, as it reads no more for the count than for the page.

    SQLite reads runs in their order where nothing is filtered, and looks through all goals for
    words before it knows the first run. PostgreSQL may tell about how many there are.
    """
    is_searched = bool(found.form.cleaned_data.get("q"))
    return connection.vendor == "sqlite" and (is_searched or not is_filtered)
