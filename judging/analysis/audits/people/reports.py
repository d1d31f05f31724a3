"""Reports on annotators: against each other, and evaluators and detectors against them."""

from collections.abc import Iterable
from functools import partial
from typing import Any

from django.utils.functional import Promise
from django.utils.http import urlencode
from django.utils.safestring import SafeString
from django.utils.text import capfirst
from django.utils.translation import gettext, gettext_noop
from django.utils.translation import gettext_lazy as _

from judging.analysis.audits.facts import (
    RUNS,
    UNDEFINED,
    AuditFacts,
    differing,
    estimated,
    source_column,
)
from judging.analysis.audits.people.against import KINDS, Against, DetectorCell
from judging.analysis.audits.people.agreement import COEFFICIENTS, Agreed, Agreement, OnQuestion
from judging.analysis.audits.people.questions import answer_words
from judging.analysis.audits.query import Unsure
from judging.analysis.pictures import IntervalRow, Meaning, interval_picture
from judging.analysis.reports.report import (
    Cell,
    Column,
    Layout,
    Report,
    ends,
    in_files,
    number,
    on_pages,
    parted,
    report_of,
    text,
    value_and_ends,
    why,
    with_ends,
)
from judging.analysis.reports.showing import Shown, ends_words, estimate, figure_words, show
from judging.models import Study


def agreement(facts: AuditFacts) -> Report:
    """Agreement on each question: of all annotators, of each pair, and of each with themselves."""
    return agreement_report(facts.agreement)


def agreement_report(found: Agreement) -> Report:
    words = (Unsure.IN if found.counts_unsure else Unsure.OUT).label
    rows = [row for each in found.questions for row in _on_question(each)]
    return Report(
        columns=[
            on_pages(_("question"), show=_show_question, is_text=True),
            in_files("kind"),
            text("annotators", _("annotators")),
            Column("runs", RUNS.name, per_row=True),
            text("figure", _("figure"), words=COEFFICIENTS),
            estimated(_("value"), _show_agreed),
            Column(
                "question",
                parts=["question", "categories"],
                spread=lambda each: [each.question.key, len(each.question.categories)],
            ),
        ],
        rows=rows,
        # Of two annotators the pair is all of them.
        page_rows=[row for row in rows if row[1] != PAIR or len(row[0].pairs) > 1],
        notes=[
            *([gettext(_BY_ORDER)] if found.by_order else []),
            gettext("Over the runs that at least two annotators labelled; %(unsure)s.")
            % {"unsure": words},
            gettext(
                "Kappa of more than two is pooled over pairs: (A − E) / (N − E), with N labelled "
                "by both, A of them alike, E alike by chance, each summed over the pairs."
            ),
        ],
        layout=Layout(pivot="figure"),
    )


_BY_ORDER = gettext_noop(
    "Of each run the first label is held against the second, in the order in which they were given "
    "or stood in the file, whoever gave them."
)
PAIR = "pair"


def _on_question(found: OnQuestion) -> Iterable[list[Any]]:
    yield from _agreed("all", gettext("all annotators"), found.runs, found.figures, found)
    for pair in found.pairs:
        names = f"{pair.first}, {pair.second}"
        yield from _agreed(PAIR, names, pair.runs, pair.figures, found)
    for pair in found.repeats:
        who = Cell(pair.first, note=gettext("the same run again"))
        yield from _agreed("repeat", who, pair.runs, pair.figures, found)


def _agreed(
    kind: str, who: str | Cell, runs: int, figures: Iterable[Agreed], found: OnQuestion
) -> Iterable[list[Any]]:
    return [[found, kind, who, runs, each.key, each, found] for each in figures]


def _show_agreed(each: Agreed) -> Shown:
    words = partial(figure_words, is_share=each.is_share)
    return estimate(each.value, words, ends_words(each.interval, is_share=each.is_share))


def _show_question(found: OnQuestion) -> Shown:
    """`Looping`, below it `AC1 over 3 answers: yes, no, unsure`."""
    given = found.question.categories
    words = gettext("AC1 over %(n)s answers: %(answers)s")
    answers = ", ".join(map(answer_words, given[:MOST_NAMED])) + ("…" * (len(given) > MOST_NAMED))
    return Shown(found.question.name, words % {"n": len(given), "answers": answers})


MOST_NAMED = 6


def people(facts: AuditFacts) -> Report:
    """One row a pair of annotators, or of an evaluator and an annotator.

    On a page every annotator has columns of their own.
    """
    kappa = parted(
        ("kappa", "kappa_low", "kappa_high"),
        _("Cohen's kappa"),
        spread=lambda each: [number(each.matrix.kappa), *ends(each.kappa_interval)],
        show=_show_kappa,
    )

    def differ(row: tuple[str, Against]) -> Cell:
        of = row[1]
        runs = differing(facts.study, of.matrix.wrong, of.annotator, of.source)
        words = gettext("%(n)s of them without a reference verdict that counts")
        return runs._replace(note=words % {"n": of.unlisted} if of.unlisted else "")

    def undefined(row: tuple[str, Against]) -> str | None:
        return why(row[1].matrix.accuracy.value) or why(row[1].matrix.kappa)

    return report_of(
        facts.ceiling.all,
        [
            (in_files("kind"), lambda row: row[0]),
            (source_column("voice", _("who")), lambda row: row[1].source),
            (
                text("annotator", _("against"), show=_show_annotator),
                lambda row: row[1].annotator.name,
            ),
            (in_files("runs"), lambda row: row[1].matrix.decided),
            (with_ends("agreement", _("agreement")), lambda row: row[1].matrix.accuracy),
            (kappa, lambda row: row[1]),
            (on_pages(_("they differ on")), differ),
            (in_files(UNDEFINED), undefined),
        ],
        notes=[gettext(OVER)],
        layout=Layout(pivot="annotator"),
    )


OVER = gettext_noop(
    "Before adjudication, over the runs on which both say success or failure: people with each "
    "other whether settled or not, evaluators where a reference verdict counts."
)


def _show_annotator(name: str) -> Shown:
    return Shown(capfirst(gettext("against %(name)s") % {"name": name}))


def _show_kappa(each: Against) -> Shown:
    note = ends_words(each.kappa_interval, is_share=False)
    return estimate(each.matrix.kappa, lambda n: f"κ {figure_words(n, is_share=False)}", note)


MOST_DRAWN = 40


def ceiling_picture(facts: AuditFacts) -> SafeString:
    """How often each evaluator agrees with each annotator, and they with each other."""
    rows = [_drawn(facts.study, each, meaning) for meaning, each in facts.ceiling.all[:MOST_DRAWN]]
    label = gettext("How often do evaluators agree with people, and people with each other?")
    return interval_picture(rows, label=label, meaning="evaluator")


def _drawn(study: Study, against: Against, meaning: Meaning) -> IntervalRow:
    runs = differing(study, against.matrix.wrong, against.annotator, against.source)
    name = f"{against.source.shown} · {against.annotator.name}"
    words = gettext("%(name)s: %(n)s runs on which they differ")
    return IntervalRow(
        name,
        against.matrix.accuracy.value,
        against.matrix.accuracy.interval,
        url=runs.url,
        title=words % {"name": name, "n": runs.value},
        meaning=meaning,
    )


def detectors(facts: AuditFacts) -> Report:
    """One row a detector and kind of anomaly; each number opens its runs on the page."""
    found = facts.detectors.values()
    names = {each.key: each.name for each in found}

    def query(kind: str, detector: str, cell: DetectorCell) -> str:
        return f"?{urlencode({'kind': kind, 'detector': detector, 'cell': cell.value})}#runs"

    return Report(
        columns=[
            text("kind", _("anomalies"), words=KINDS),
            text("detector", _("detector"), words=names),
            *(Column(each.value.replace("-", "_"), each.label) for each in DetectorCell),
            _rate("precision", _("precision")),
            _rate("recall", _("recall")),
        ],
        rows=[
            [
                each.kind,
                each.key,
                *(Cell(each.n(cell), query(each.kind, each.key, cell)) for cell in DetectorCell),
                each.precision,
                each.recall,
            ]
            for each in found
        ],
    )


def _rate(key: str, words: Promise) -> Column:
    return parted(
        [f"{key}{end}" for end in ("", "_low", "_high", "_undefined_because")],
        words,
        spread=lambda share: [*value_and_ends(share), why(share.value)],
        show=lambda share: show(share if share.total else share.value),
    )
