"""What all tables share: pages over counted rows, and cells that stay hidden."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from runs.interface.row_counts import BoundedPaginator, RowCount, count_rows

PER_PAGE = 50


class CappedPaginator(BoundedPaginator):
    """The same over the rows of a table."""

    @cached_property
    def rows(self) -> RowCount:
        """How many rows there are."""
        listed: Any = self.object_list
        return count_rows(listed.data.data)


def hidden() -> SafeString:
    """What stands in a cell that this person must not read yet."""
    return format_html('<span class="muted">{}</span>', _("hidden"))
