"""The menus that reports and data are downloaded from."""

from collections.abc import Iterable, Mapping
from typing import Any

from django import template
from django.urls import reverse
from django.utils.html import format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from judging.analysis.reports.writing import FORMATS
from judging.portability.judgements.data_tables import DATA_FORMATS, DATA_TABLES

register = template.Library()

ENDING = "ENDING"
"""Placeholder for the format in an address."""


@register.inclusion_tag("judging/analysis/_downloads.html")
def downloads(address: str, *args: object, query: str = "", small: bool = False) -> dict[str, Any]:
    """A download menu of one report, whose address takes these arguments and an ending."""
    path = reverse(address, args=[*args, ENDING]) + (f"?{query}" if query else "")
    return {"links": [(each, path.replace(ENDING, each)) for each in FORMATS], "small": small}


@register.simple_tag
def table_downloads(
    address: str,
    key: int,
    tables: Mapping[str, Any],
    *,
    query: str = "",
    report: str = "",
    formats: Iterable[str] = tuple(FORMATS),
) -> SafeString:
    """The groups of a download menu: of each table its words, and a link in each format.

    Args:
        address: name of the address of a table, such as `judging:audit_table`.
        key: number of the study or experiment.
        tables: words by name.
        report: name of the address of all of them as one document, which CSV cannot hold.
    """
    asked = f"?{query}" if query else ""
    groups = [
        (words, reverse(address, args=[key, name, ENDING]), formats)
        for name, words in tables.items()
    ]
    if report:
        documents = [ending for ending in formats if ending != "csv"]
        groups.insert(0, (_("Full report"), reverse(report, args=[key, ENDING]), documents))
    return format_html_join(
        "",
        '<span class="group">{}</span>\n<span class="cluster downloads">{}</span>\n',
        (
            (
                words,
                format_html_join(
                    "",
                    '<a href="{}" download>{}</a>',
                    ((path.replace(ENDING, each) + asked, format_name(each)) for each in endings),
                ),
            )
            for words, path, endings in groups
        ),
    )


@register.filter
def format_name(ending: str) -> str:
    """What people call the format of files that end so."""
    named = {"md": "Markdown", "tex": "LaTeX", "parquet": "Parquet"}
    return named.get(ending, ending.upper())


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
        "tables": {
            table.name: _("%(table)s, as data") % {"table": table.title} for table in tables
        },
        "formats": DATA_FORMATS,
    }
