"""Menus of what can be taken away as data."""

from typing import Any

from django import template

from judging.portability.judgements.data_tables import DATA_TABLES
from judging.portability.judgements.table_writing import DATA_FORMATS

register = template.Library()


@register.inclusion_tag("judging/portability/_data_downloads.html")
def data_downloads(address: str, key: int) -> dict[str, Any]:
    """The groups of a download menu for the study or experiment of that number.

    Args:
        address: name of the address of its tables, such as `judging:study_data`.
    """
    is_study = address == "judging:study_data"
    tables = [table for table in DATA_TABLES.values() if is_study or not table.of_study]
    return {
        "address": address,
        "key": key,
        "is_study": is_study,
        "tables": tables,
        "formats": DATA_FORMATS,
    }
