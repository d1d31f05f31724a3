"""How figures and failure modes read on a page."""

from collections.abc import Iterable, Iterator
from functools import lru_cache

from django import forms, template
from django.contrib.humanize.templatetags.humanize import intcomma
from django.utils.functional import Promise
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import get_language, ngettext
from django.utils.translation import gettext as _

from judging.analysis.audits.figures import Measured
from judging.analysis.audits.matrices import EvaluatorAudit
from judging.analysis.audits.people.agreement import Agreed
from judging.analysis.audits.population import Shown
from judging.analysis.audits.verdict_sources import stubs_of as find_stubs
from judging.analysis.failure_modes.sources import NAMES, SIDES
from judging.analysis.reports import showing
from judging.models import Label, Study
from judging.statistics.comparison import McNemar
from judging.statistics.figures import Figure, Interval, Share, Undefined
from judging.studies.protocols import named_causes
from runs.interface.sentences import listed
from runs.interface.words import cell
from webagent.trajectory.verdict_records import Mode, Side

register = template.Library()


@register.simple_tag
def stubs_of(study: Study) -> str:
    """The names of the study's evaluators that a stub answers where a model would."""
    return listed(dict.fromkeys(version.title for version in find_stubs(study)))


@register.simple_tag
def select(name: str, choices: Iterable[tuple[object, object]], chosen: object = "") -> SafeString:
    """A menu of values in words, with the chosen one."""
    return forms.Select(choices=choices).render(name, chosen)


@register.simple_tag
def matrix_head() -> SafeString:
    """The caption and the column heads of a matrix, the same for every evaluator."""
    return _matrix_head(get_language())


@lru_cache(maxsize=100)
def _matrix_head(language: str | None) -> SafeString:
    caption = _("Runs by reference verdict and by what the evaluator said")
    return format_html(_HEAD, caption, _("reference"), _("passed"), _("not passed"))


_HEAD = """<caption class="visually-hidden">
      {}
    </caption>
    <thead>
      <tr>
        <td class="corner">{}</td>
        <th scope="col">{}</th>
        <th scope="col">{}</th>
      </tr>
    </thead>"""


@register.simple_tag
def matrix_rows(each: EvaluatorAudit) -> SafeString:
    """The rows of an evaluator's matrix, by reference verdict; each cell leads to its runs."""
    rows = ((_("success"), each.success), (_("failure"), each.failure))
    return format_html_join(
        "\n",
        '<tr><th scope="row">{}</th>{}</tr>',
        ((words, format_html_join("\n", _CELL, _cells(each, shares))) for words, shares in rows),
    )


_CELL = (
    '<td class="matrix-cell {}{}"><a href="{}">{} <span class="figure">{}</span> '
    '<span class="small muted num">{}{}</span></a></td>'
)
_ENDS = ' <span class="ends">({})</span>'


def _cells(each: EvaluatorAudit, shares: list[tuple[Shown, Share]]) -> Iterator[tuple[str, ...]]:
    for name, share in shares:
        ends = interval(share)
        yield (
            name,
            "" if share.count else " zero",
            each.url(name),
            cell(name),
            intcomma(share.count),
            percent(share),
            format_html(_ENDS, ends) if ends else "",
        )


@register.simple_tag
def errors_of(each: EvaluatorAudit) -> SafeString:
    """What an evaluator gets wrong and of what it says nothing; figures lead to their runs."""
    parts = []
    missed, passed = each.matrix.fnr, each.matrix.fpr
    misses = ngettext(
        "misses %(n)s of %(total)s success", "misses %(n)s of %(total)s successes", missed.total
    )
    passes = ngettext(
        "passes %(n)s of %(total)s failure", "passes %(n)s of %(total)s failures", passed.total
    )
    for share, url, words in ((missed, each.missed_url, misses), (passed, each.passed_url, passes)):
        if share.total:
            found = words % {"n": intcomma(share.count), "total": intcomma(share.total)}
            parts.append(format_html(_ERRORS, url, found, with_ends(share)))
    if each.matrix.no_verdict:
        found = _("no verdict on %(n)s") % {"n": intcomma(each.matrix.no_verdict)}
        parts.append(format_html('<a href="{}">{}</a>', each.no_verdict_url, found))
    return format_html_join("\n· ", "{}", ((part,) for part in parts))


_ERRORS = '<a href="{}">{}</a> <span class="muted num">({})</span>'


@register.filter
def with_ends(share: Share) -> str:
    """A share as a percentage with its interval, if it has one."""
    return ", ".join(filter(None, (percent(share), interval(share))))


@register.filter
def percent(share: Share | Figure) -> str:
    """A share as a percentage; a dash where it is undefined."""
    value = share.value if isinstance(share, Share) else share
    return showing.figure_words(value, is_share=True)


@register.filter
def percent_of(share: Share) -> str:
    """The same as a bare number from 0 to 100, for the width of a bar; 0 where it is undefined."""
    return "0" if isinstance(share.value, Undefined) else f"{100 * share.value:.1f}"


@register.filter
def interval(figure: Share | Measured | Agreed) -> str:
    """Its interval, empty where there is none."""
    is_share = True if isinstance(figure, Share) else figure.is_share
    return showing.interval_words(figure.interval, is_share=is_share)


@register.filter
def by_task(figure: Measured) -> str:
    """Its interval with whole tasks resampled, empty where that says nothing more."""
    if isinstance(figure.by_task, Interval) and figure.by_task.low == figure.by_task.high:
        return ""
    return showing.interval_words(figure.by_task, is_share=figure.is_share)


@register.filter
def figure(measured: Measured | Agreed) -> str:
    """Its value, a dash where it is undefined."""
    return showing.figure_words(measured.value, is_share=measured.is_share)


@register.filter
def why(measured: Measured | Agreed) -> str:
    """Why there is no figure, or no interval to one; empty where both are there."""
    for part in (measured.value, measured.interval):
        if isinstance(part, Undefined):
            return showing.why_undefined(part)
    return ""


@register.filter
def p_in_words(test: McNemar) -> str:
    """The p-value of a test as it stands in a sentence: p = 0.03, p < 0.001."""
    words = showing.p_words(test.tested_p)
    if test.tested_p is None:
        return words
    return f"p {words}" if words.startswith("<") else f"p = {words}"


@register.filter
def why_figure(figure: Share | Figure) -> str:
    """Why there is no such share or figure; empty where there is."""
    value = figure.value if isinstance(figure, Share) else figure
    return showing.why_undefined(value) if isinstance(value, Undefined) else ""


register.filter("share_ends", showing.percent_ends)


@register.filter
def points(value: Figure) -> str:
    """A difference of two shares in percentage points, with its sign; a dash for none."""
    return showing.DASH if isinstance(value, Undefined) else showing.points_words(value)


@register.filter
def cause_names(label: Label) -> str:
    return listed(named_causes(label.item.study.taxonomy, label.causes))


@register.filter
def mode_name(mode: Mode) -> Promise:
    return NAMES[mode]


@register.filter
def side_name(side: Side) -> Promise:
    return SIDES[side]
