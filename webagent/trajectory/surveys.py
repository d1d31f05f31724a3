"""A preview of an upload: what is in it and what would become of it, nothing stored."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from webagent.trajectory.bundles import RunBundle, n_taken
from webagent.trajectory.files.recognition import Question
from webagent.trajectory.intake import Problem, Rejection
from webagent.trajectory.reading import RunSource

MOST_KINDS = 50
MOST_LISTED = 200
MOST_UNREAD = 20


@dataclass
class FormatSurvey:
    """What was found of one format in one version of it, under the names that pages know."""

    format: str
    version: str
    runs: int = 0
    already_there: int = 0
    """Of these, runs that are stored already."""
    steps: int = 0
    screenshots: int = 0
    labels: int = 0
    verdicts: int = 0
    """Settled verdicts of people."""
    evaluations: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    evaluators: Counter[str] = field(default_factory=Counter)
    gaps: Counter[str] = field(default_factory=Counter)
    """What is missing or was not understood -> how often."""
    dropped: Counter[str] = field(default_factory=Counter)
    """What is left out on purpose -> how often."""
    redacted: Counter[str] = field(default_factory=Counter)
    """Kind of secret -> how many are taken out."""

    def add(self, bundle: RunBundle, *, is_known: bool, refused: Sequence[Problem]) -> None:
        source = bundle.run.source
        self.runs += 1
        self.already_there += is_known
        self.steps += len(bundle.steps)
        self.screenshots += bundle.n_screenshots
        self.labels += n_taken(bundle.labels, refused)
        self.verdicts += n_taken(bundle.adjudications, refused)
        self.evaluations += len(bundle.evaluations)
        self.outcomes[bundle.run.outcome.value] += 1
        for evaluation in bundle.evaluations:
            self.evaluators[f"{evaluation.evaluator.name} ({evaluation.evaluator.kind})"] += 1
        for gap in bundle.run.gaps:
            self.gaps[gap.what] += gap.count or 1
        for gap in source.dropped:
            self.dropped[f"{gap.what}: {gap.why}"] += 1
        self.redacted.update(source.redacted)

    def to_json(self) -> dict[str, Any]:
        """Counts, and of each kind of thing the most frequent."""
        return {
            name: dict(value.most_common(MOST_KINDS)) if isinstance(value, Counter) else value
            for name, value in vars(self).items()
        }


@dataclass(slots=True)
class Survey:
    """All that a preview found."""

    formats: dict[tuple[str, str], FormatSurvey] = field(default_factory=dict)
    rejected: list[Rejection] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    """What is left out of runs that would be taken; at most `MOST_LISTED` of `n_problems`."""
    n_problems: int = 0
    questions: tuple[Question, ...] = ()
    unread: tuple[str, ...] = ()
    """Files that no importer takes."""

    @property
    def n_done(self) -> int:
        """Runs looked at."""
        return sum(found.runs for found in self.formats.values()) + len(self.rejected)

    def add(
        self, found: RunBundle | Problem, *, is_known: bool = False, refused: Sequence[Problem] = ()
    ) -> None:
        if isinstance(found, RunBundle):
            source = found.run.source
            key = (source.format, source.format_version or "")
            of_format = self.formats.setdefault(key, FormatSurvey(*key))
            of_format.add(found, is_known=is_known, refused=refused)
            self._note(*found.problems, *refused)
        elif isinstance(found, Rejection):
            self.rejected.append(found)
        else:
            self._note(found)

    def to_json(self) -> dict[str, Any]:
        """The shape that pages show and `manage.py import_runs --dry-run --json` prints."""
        return {
            "formats": [found.to_json() for found in self.formats.values()],
            "rejected": [rejection.to_json() for rejection in self.rejected[:MOST_LISTED]],
            "problems": [problem.to_json() for problem in self.problems],
            "questions": [asdict(question) for question in self.questions],
            "unread": list(self.unread[:MOST_UNREAD]),
            "counts": {
                "runs": sum(found.runs for found in self.formats.values()),
                "rejected": len(self.rejected),
                "problems": self.n_problems,
                "unread": len(self.unread),
            },
        }

    def _note(self, *problems: Problem) -> None:
        self.n_problems += len(problems)
        self.problems.extend(problems[: max(0, MOST_LISTED - len(self.problems))])


def survey(
    source: RunSource,
    *,
    is_known: Callable[[RunBundle], bool] = lambda _: False,
    refused: Callable[[RunBundle], Sequence[Problem]] = lambda _: (),
    on_run: Callable[[Survey], None] = lambda _: None,
) -> Survey:
    """Read everything and count it. Stores nothing; iterates the source, which is used up.

    Args:
        is_known: whether a run is stored already.
        refused: what is said of a new run and would not be taken.
        on_run: called after each item, for progress.
    """
    found = Survey(questions=source.questions, unread=source.unread)
    for item in source:
        if isinstance(item, RunBundle):
            known = is_known(item)
            found.add(item, is_known=known, refused=() if known else refused(item))
        else:
            found.add(item)
        on_run(found)
    return found
