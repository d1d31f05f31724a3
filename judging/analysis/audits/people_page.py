"""What the page of evaluators beside people shows, with the runs behind every number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from judging.analysis.audits.ceiling import Against, Ceiling
from judging.analysis.audits.triangle_links import Linked, differing
from judging.analysis.audits.verdict_sources import VerdictSource
from judging.analysis.pictures import IntervalRow, Meaning, figure_row, interval_picture
from judging.models import Study

MOST_DRAWN = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class AgainstShown:
    """One voice against one annotator, and the runs on which they differ."""

    against: Against
    differing: Linked


@dataclass(frozen=True, slots=True, kw_only=True)
class PeoplePage:
    """Annotators against each other, evaluators against each of them."""

    annotators: Sequence[VerdictSource]
    people: Sequence[AgainstShown]
    evaluators: Sequence[tuple[VerdictSource, Sequence[AgainstShown]]]
    picture: SafeString


def people_page(study: Study, ceiling: Ceiling) -> PeoplePage:
    """The ceiling with its links and its picture."""
    people = [_shown(study, each) for each in ceiling.people]
    evaluators = [
        (voice, [_shown(study, each) for each in ceiling.evaluators[voice.key]])
        for voice in ceiling.shown
    ]
    rows = [_row(each, "people") for each in people]
    rows += [_row(each, "evaluator") for _voice, found in evaluators for each in found]
    label = _("How often do evaluators agree with people, and people with each other?")
    return PeoplePage(
        annotators=ceiling.annotators,
        people=people,
        evaluators=evaluators,
        picture=interval_picture(rows[:MOST_DRAWN], label=label, meaning="evaluator"),
    )


def _shown(study: Study, against: Against) -> AgainstShown:
    runs = differing(study, against.differing, against.annotator, against.voice)
    return AgainstShown(against=against, differing=runs)


def _row(shown: AgainstShown, meaning: Meaning) -> IntervalRow:
    against = shown.against
    name = _("%(voice)s · %(annotator)s") % {
        "voice": against.voice.name,
        "annotator": against.annotator.name,
    }
    return figure_row(
        name,
        against.agreement.value,
        against.agreement.interval,
        url=shown.differing.url,
        title=_("%(name)s: %(n)s runs on which they differ")
        % {"name": name, "n": shown.differing.n},
        meaning=meaning,
    )
