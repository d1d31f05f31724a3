"""How runs failed, as pages show it: beside a run, and in lists of runs."""

from collections.abc import Iterable
from typing import Any

from django import forms
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from judging.analysis.audits.judgements import RunJudgements, shows_experiment
from judging.analysis.failure_modes.services import Proposed, ProposedMode, Statement, proposed_for
from judging.analysis.failure_modes.sources import DEFINITIONS, NAMES, RULES, SIDES
from judging.evaluators.failure_detection import Rule
from judging.models import Evaluation, FailureReview, ReferenceVerdict
from judging.studies.forms import StatementForm, note_field
from runs.models import Run, User
from webagent.trajectory.verdict_records import OF_THE_AGENT, Mode, Side

LONGEST_NOTE = 2000


class FailureForm(StatementForm):
    """Modes, the side on which it went wrong, and a note. No mode says that none of them fits."""

    KEYS = {"modes": "", "side": ""}
    AUTO_ID = "failure_%s"

    modes = forms.MultipleChoiceField(
        label=capfirst(gettext_lazy("failure modes")),
        choices=[(mode.value, NAMES[mode]) for mode in Mode],
        required=False,
        widget=forms.CheckboxSelectMultiple,
    )
    side = forms.ChoiceField(
        label=gettext_lazy("Where it went wrong"),
        choices=[("", gettext_lazy("not set")), *((side.value, SIDES[side]) for side in Side)],
        required=False,
        widget=forms.RadioSelect,
    )
    note = note_field(LONGEST_NOTE)

    def clean(self) -> dict[str, Any] | None:
        cleaned = super().clean()
        modes = set(self.cleaned_data.get("modes", []))
        if Mode.ENVIRONMENT in modes and len(modes) > 1:
            self.add_error("modes", _("A failure is either the environment's or the agent's."))
        elif self.cleaned_data.get("side") and not modes & set(OF_THE_AGENT):
            self.add_error("side", _("Operation and reasoning take a mode."))
        return cleaned

    @property
    def statement(self) -> Statement:
        side = self.cleaned_data["side"]
        return Statement(
            modes=frozenset(Mode(mode) for mode in self.cleaned_data["modes"]),
            side=Side(side) if side else None,
            note=self.cleaned_data["note"].strip(),
        )


class ChosenRunsForm(FailureForm):
    """The same of many runs at once, or confirming what is proposed for each."""

    action = forms.ChoiceField(choices=[(word, word) for word in ("confirm", "say", "undo")])
    batch = forms.UUIDField(required=False)
    back = forms.CharField(required=False, max_length=2000)


REVIEW = "judging.add_failurereview"
WITHDRAWN = FailureReview.Decision.WITHDRAWN


class FailurePane:
    """Everything on how one run failed, and the form for a person's word.

    Of a run that the person may know everything of. Whether it failed is also told by the
    judgements on it, where they are given.
    """

    def __init__(
        self,
        run: Run,
        user: User,
        form: FailureForm | None = None,
        judgements: RunJudgements | None = None,
    ) -> None:
        said = FailureReview.objects.filter(run=run).select_related("by")
        self.run = run
        self.links_experiment = shows_experiment(run)
        self.proposed = proposed_for([run.pk])[run.pk]
        self.history = list(said.order_by("-at", "-pk"))
        current = next((each for each in self.history if each.is_current), None)
        self.review = None if current is None or current.decision == WITHDRAWN else current
        """The word that counts; None where nobody has said anything, or it was taken back."""
        self.form = form or FailureForm(initial=_initial(self.review, self.proposed))
        self.may_review = user.has_perm(REVIEW)
        self._references = [each.verdict for each in judgements.references] if judgements else []
        lines = judgements.evaluators if judgements else []
        self._judged = {line.evaluation.verdict for line in lines}

    @property
    def shown(self) -> list[dict[str, Any]]:
        """What each evaluator says: the modes that it proposes, None where it has no answer."""
        both = (self.proposed.rules, self.proposed.judge)
        return [
            {
                "proposal": each,
                "named": None if each.named is None else [_shown(mode) for mode in each.named],
                "side": SIDES[each.side] if each.side else None,
            }
            for each in both
            if each is not None
        ]

    @property
    def is_open(self) -> bool:
        """Whether it is unfolded by itself: where something is to be said."""
        if self.review is not None or self.form.errors:
            return True
        if not self.has_failed:
            return False
        if self.run.outcome == Run.Outcome.SUCCESS:
            return False
        is_known = self.run.outcome != Run.Outcome.UNKNOWN
        return is_known or bool(self.proposed.modes)

    @property
    def has_failed(self) -> bool:
        """Whether anybody or anything says so; of a success nobody is asked how it failed.

        That people say it succeeded counts before the outcome and evaluators; an evaluator that
        passed it, where the outcome is unknown.
        """
        if self.history:
            return True
        if self._references[:1] == [ReferenceVerdict.Verdict.SUCCESS]:
            return False
        if ReferenceVerdict.Verdict.FAILURE in self._references or self.proposed.modes:
            return True
        if Evaluation.Verdict.FAILED in self._judged:
            return True
        if self.run.outcome == Run.Outcome.UNKNOWN:
            return Evaluation.Verdict.PASSED not in self._judged
        return self.run.outcome != Run.Outcome.SUCCESS

    @property
    def can_confirm(self) -> bool:
        return bool(self.proposed.modes) and self.review is None

    @property
    def undoable(self) -> FailureReview | None:
        """The newest word, if there is one to take back."""
        newest = self.history[0] if self.history else None
        return newest if newest is not None and newest.decision != WITHDRAWN else None


def failure_beside(judgements: RunJudgements, user: User) -> FailurePane | None:
    """The pane beside a run's timeline; None where the person may not read it, or it still runs."""
    if not judgements.reads_audits or judgements.run.is_active:
        return None
    return FailurePane(judgements.run, user, judgements=judgements)


def with_failure_modes(runs: Iterable[Any]) -> list[Any]:
    """The runs of a list, each with its `failure`: people's review, or else what is proposed.

    In two queries.
    """
    listed = list(runs)
    ids = [run.pk for run in listed]
    proposals = proposed_for(ids)
    said = FailureReview.objects.filter(run__in=ids, is_current=True).select_related("by")
    reviews = {each.run_id: each for each in said.exclude(decision=WITHDRAWN)}
    for run in listed:
        run.failure = _listed_modes(reviews.get(run.pk), proposals[run.pk])
    return listed


def _listed_modes(review: FailureReview | None, proposed: Proposed) -> dict[str, Any]:
    modes = set(review.named) if review else proposed.modes
    side = review.known_side if review else proposed.side
    return {
        "names": [NAMES[mode] for mode in Mode if mode in modes],
        "side": SIDES[side] if side else None,
        "review": review,
        "is_examined": review is not None or bool(proposed.spoken),
    }


def _initial(review: FailureReview | None, proposed: Proposed) -> dict[str, object]:
    if review is not None:
        return {"modes": review.named, "side": review.side, "note": review.note}
    return {"modes": [m for m in Mode if m in proposed.modes], "side": proposed.side or ""}


def _shown(named: ProposedMode) -> dict[str, Any]:
    """One mode that is proposed, with its reason in words and the steps that show it."""
    by_rule = named.rule in set(Rule)
    return {
        "name": NAMES[named.mode],
        "definition": DEFINITIONS[named.mode],
        "reason": RULES[Rule(named.rule)] if by_rule else named.rationale,
        "is_hostile": not by_rule,  # a model wrote it, having read the run
        "steps": named.steps,
    }
