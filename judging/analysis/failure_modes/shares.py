"""How often an agent's failures show each mode, by source, with intervals."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from django.db.models import QuerySet
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from judging.analysis.failure_modes.sources import (
    NONE,
    UNKNOWN,
    ModeSource,
    mode_words,
    side_key,
    with_modes,
)
from judging.analysis.reports.report import (
    CONFIGURATION,
    SHARE_KEYS,
    Cell,
    Layout,
    Report,
    in_files,
    share,
    text,
)
from judging.analysis.reports.showing import Shown, percent, percent_ends
from judging.models import FailureReview
from judging.statistics.figures import Reason, Share
from webagent.trajectory.verdict_records import OF_THE_AGENT, Mode, Side

FINDS: Mapping[ModeSource, frozenset[Mode]] = {
    ModeSource.MECHANICAL: frozenset(Mode) - {Mode.PLAN_ERROR, Mode.MISREAD_OBSERVATION},
    ModeSource.JUDGE: frozenset(Mode) - {Mode.MAX_STEPS},
    ModeSource.PEOPLE: frozenset(Mode),
}
"""The modes that each can find: that it names no other says nothing of those."""


class RunModes(NamedTuple):
    """The failure modes of one run by each source; None where it has not examined the run."""

    agent: int
    is_error: bool
    """It ended in an error: no failure, and looked at for the environment alone."""
    by_rules: frozenset[Mode] | None
    by_judge: frozenset[Mode] | None
    by_people: frozenset[Mode] | None
    judge_side: str = ""
    people_side: str = ""

    def words(self, by: ModeSource) -> dict[ModeSource, frozenset[Mode]]:
        """What those found whose word counts and who have examined the run."""
        found = {
            ModeSource.MECHANICAL: self.by_rules,
            ModeSource.JUDGE: self.by_judge,
            ModeSource.PEOPLE: self.by_people,
        }
        if by is not ModeSource.KNOWN:
            counting = [by]
        elif self.by_people is not None:
            counting = [ModeSource.PEOPLE]
        else:
            counting = [ModeSource.JUDGE, ModeSource.MECHANICAL]
        return {each: modes for each in counting if (modes := found[each]) is not None}

    def modes(self, by: ModeSource) -> frozenset[Mode] | None:
        """The modes by this source. A run that shows the environment shows nothing else."""
        words = self.words(by)
        found = frozenset().union(*words.values()) if words else None
        return frozenset({Mode.ENVIRONMENT}) if found and Mode.ENVIRONMENT in found else found

    def looked_for(self, by: ModeSource) -> frozenset[Mode]:
        """The modes that those whose word counts would have found."""
        words = self.words(by)
        return frozenset().union(*(FINDS[each] for each in words), *words.values())

    def side(self, by: ModeSource) -> Side | None:
        """Operation or reasoning; fixed rules never say."""
        people = self.people_side if self.by_people is not None else None
        word = {
            ModeSource.MECHANICAL: "",
            ModeSource.JUDGE: self.judge_side,
            ModeSource.PEOPLE: people or "",
            ModeSource.KNOWN: self.judge_side if people is None else people,
        }[by]
        return Side(word) if word in set(Side) else None


@dataclass(slots=True)
class ModeFigures:
    by: ModeSource
    failures: int = 0
    examined: int = 0
    """Failures of which somebody whose word counts has spoken."""
    environment: int = 0
    """Those of them that the environment spoiled: none of them is the agent's."""
    errors: int = 0
    """Runs that ended in an error of the environment; they are no failures."""
    modes: Counter[Mode] = field(default_factory=Counter)
    looked_for: Counter[Mode] = field(default_factory=Counter)
    """The agent's failures examined by somebody who can find the mode."""
    read: int = 0
    """The agent's failures examined by the judge or a person: fixed rules alone rule out little."""
    none: int = 0
    """Those of them in which no mode was found."""
    sides: Counter[Side] = field(default_factory=Counter)

    @property
    def unknown(self) -> int:
        return self.failures - self.examined

    @property
    def agents(self) -> int:
        """Failures that count: examined, and not the environment's."""
        return self.examined - self.environment

    def share(self, mode: Mode) -> Share:
        """Of the agent's failures in which the mode was looked for; for the environment of all
        examined failures and errors.
        """
        if mode is Mode.ENVIRONMENT:
            return Share(self.environment + self.errors, self.examined + self.errors)
        return Share(self.modes[mode], self.looked_for[mode], self._why_none)

    @property
    def without_mode(self) -> Share:
        """Of the agent's failures that the judge or a person examined."""
        return Share(self.none, self.read, self._why_none)

    @property
    def _why_none(self) -> Reason:
        return Reason.NOBODY_LOOKED if self.agents else Reason.NO_FAILED_RUNS

    def side_share(self, side: Side) -> Share:
        """Among the agent's failures of which the side is known."""
        return Share(self.sides[side], self.sides.total(), Reason.NO_FAILED_RUNS)

    def add(self, run: RunModes) -> None:
        found = run.modes(self.by)
        if run.is_error:
            self.errors += Mode.ENVIRONMENT in (found or ())
            return
        self.failures += 1
        if found is None:
            return
        self.examined += 1
        if Mode.ENVIRONMENT in found:
            self.environment += 1
            return
        self.modes.update(mode for mode in OF_THE_AGENT if mode in found)
        self.looked_for.update(run.looked_for(self.by))
        if run.words(self.by).keys() - {ModeSource.MECHANICAL}:
            self.read += 1
            self.none += not found
        if side := run.side(self.by):
            self.sides[side] += 1


def count(runs: Iterable[RunModes], by: ModeSource) -> dict[int, ModeFigures]:
    found: defaultdict[int, ModeFigures] = defaultdict(lambda: ModeFigures(by))
    for run in runs:
        found[run.agent].add(run)
    return dict(found)


def modes_of_runs(failures: QuerySet[Any], errors: QuerySet[Any]) -> list[RunModes]:
    """The failure modes of these runs, in two queries."""
    columns = ("agent", "by_rules", "by_judge", "by_people", "judge_side", "people_side")
    return [
        RunModes(
            agent, is_error, _modes(rules), _modes(judge), _modes(people), judged or "", said or ""
        )
        for is_error, runs in ((False, failures), (True, errors))
        for agent, rules, judge, people, judged, said in with_modes(runs).values_list(*columns)
    ]


def confirmed(failures: QuerySet[Any]) -> Share:
    """Of the proposals on these runs that people have spoken of, those confirmed as they stood."""
    current = FailureReview.objects.filter(
        run__in=failures.order_by().values("pk"), is_current=True
    ).exclude(decision=FailureReview.Decision.WITHDRAWN)
    rows = current.values_list("decision", "proposed")
    decisions = [decision for decision, proposed in rows if proposed.get("modes")]
    return Share(decisions.count(FailureReview.Decision.CONFIRMED), len(decisions))


def _modes(stored: object) -> frozenset[Mode] | None:
    """Stored modes; words that this version does not know are left out."""
    if not isinstance(stored, dict):
        return None
    return frozenset(mode for mode in Mode if mode in stored)


Link = Callable[[int, str, ModeSource], str]
"""Where the runs of a configuration that show a mode are listed, by a source."""
NOTES = (
    _(
        "A failure may show several modes, so shares do not add up to 100 %. What the environment "
        "spoiled is left out of n, but in its own row, which is of all failures and errors."
    ),
    _(
        "n: failures examined by who can find the mode. Fixed rules find no plan errors or misread "
        "observations, the failure judge no step limits; “none” is of what it or a person read."
    ),
)
_COLUMNS = (
    CONFIGURATION,
    in_files("by"),
    text("mode", _("failure modes"), show=lambda key: Shown(mode_words(key))),
    share(keys=("runs", *SHARE_KEYS[1:])),
    in_files("failures"),
    in_files("not_told"),
)


def modes_report(
    runs: Iterable[RunModes],
    names: Mapping[int, str],
    confirmed: Share,
    chosen: ModeSource,
    link: Link,
) -> Report:
    """One row a source, configuration and failure mode; a page shows the rows of one source.

    Args:
        names: of the configurations by their ids, in the order in which they are shown.
    """

    def figures_by(source: ModeSource) -> list[tuple[int, str, ModeFigures]]:
        found = count(runs, source)
        return [(pk, name, found.get(pk, ModeFigures(source))) for pk, name in names.items()]

    return Report(
        columns=_COLUMNS,
        rows=[
            [name, by.value, mode, found_share, found.failures, found.unknown]
            for by in ModeSource
            for _pk, name, found in figures_by(by)
            for mode, found_share in _shares(found)
        ],
        page_rows=[
            row
            for pk, name, found in figures_by(chosen)
            for row in _page_rows(pk, name, found, chosen, link)
        ],
        notes=[str(note) for note in NOTES],
        remarks=[
            _(
                "A failure may show several modes, so shares do not add up to 100 %. Fixed rules "
                "find repetition, early stops, invalid actions, limits and the environment; plan "
                "errors, misread observations and the sides take the failure judge or a person. "
                "n: failures examined by somebody who can find the mode, or any of them. "
                "Intervals are Wilson's, 95 %."
            ),
            *_confirmed_words(confirmed),
        ],
        layout=Layout(
            pivot="configuration", caption=_("Share of the agent's failures that show each mode")
        ),
    )


def _shares(found: ModeFigures) -> list[tuple[str, Share]]:
    """Every mode, failures without any, and either side of errors."""
    return [
        *((mode.value, found.share(mode)) for mode in Mode),
        (NONE, found.without_mode),
        *((side_key(side), found.side_share(side)) for side in Side),
    ]


def _page_rows(
    pk: int, name: str, found: ModeFigures, by: ModeSource, link: Link
) -> list[Sequence[object]]:
    """The same with their runs, the runs that nobody examined, and sides where they are known."""
    figures: list[tuple[str, Share | int, bool]] = [
        (mode, each, bool(each.count))
        for mode, each in _shares(found)
        if each.total or not mode.startswith("side_")
    ]
    figures.append((UNKNOWN, found.unknown, True))
    notes = {
        Mode.ENVIRONMENT.value: gettext("not the agent's; of all failures and errors"),
        UNKNOWN: gettext("left out of every share"),
    }
    return [
        [
            name,
            by.value,
            Cell(mode, note=notes.get(mode, "")),
            Cell(value, link(pk, mode, by) if has_runs else ""),
            None,
            None,
        ]
        for mode, value, has_runs in figures
    ]


def _confirmed_words(share: Share) -> list[str]:
    if not share.total:
        return []
    return [
        gettext(
            "People confirmed %(share)s of the proposals that they reviewed (%(n)s/%(total)s, "
            "%(ends)s)."
        )
        % {
            "share": percent(share.value),
            "n": share.count,
            "total": share.total,
            "ends": percent_ends(share.interval),
        }
    ]
