"""Agreement of the annotators as a table to take away."""

from __future__ import annotations

from collections.abc import Iterable

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from judging.analysis.audits.agreement import Agreed, Pair, agreement_of
from judging.analysis.audits.columns import HIGH, LOW, METHOD, RUNS, UNDEFINED, VALUE
from judging.analysis.reports import Column, Table, Value
from judging.analysis.table_values import ends, method, number, why
from judging.models import Study


def agreement_table(study: Study) -> Table:
    """Agreement of all annotators, of each pair, and of each with themselves."""
    agreement = agreement_of(study)
    everybody = _("all annotators")
    rows = [
        *_agreed_rows("all", everybody, agreement.runs, agreement.figures),
        *(row for pair in agreement.pairs for row in _pair_rows("pair", pair)),
        *(row for pair in agreement.repeats for row in _pair_rows("repeat", pair)),
    ]
    columns = [
        Column("kind", gettext_lazy("kind")),
        Column("annotators", gettext_lazy("annotators")),
        RUNS,
        Column("figure", gettext_lazy("figure")),
        VALUE,
        LOW,
        HIGH,
        METHOD,
        UNDEFINED,
    ]
    title = _("%(study)s: agreement of the annotators before adjudication") % {"study": study.name}
    return Table(name="agreement", title=title, columns=columns, rows=rows)


def _pair_rows(kind: str, pair: Pair) -> Iterable[list[Value]]:
    names = pair.first if pair.first == pair.second else f"{pair.first}, {pair.second}"
    return _agreed_rows(kind, names, pair.runs, pair.figures)


def _agreed_rows(
    kind: str, names: str, runs: int, figures: Iterable[Agreed]
) -> Iterable[list[Value]]:
    for each in figures:
        yield [
            kind,
            names,
            runs,
            each.key,
            number(each.value),
            *ends(each.interval),
            method(each.interval),
            why(each.value) or str(each.why) or None,
        ]
