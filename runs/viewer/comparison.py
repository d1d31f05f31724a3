"""Two runs side by side: their timelines, which steps belong together, and how they differ."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, TypedDict
from urllib.parse import urlencode, urlsplit
from uuid import UUID

from django.db.models import Case, Q, When
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_safe

from runs.interface.requests import AppRequest
from runs.interface.words import duration, money, verdict
from runs.launching.reruns.pages import RerunResult, evaluations_of, result_of
from runs.models import Run, Step, User
from runs.models.extension import extension
from runs.models.runs.queries import RunQuerySet
from runs.models.runs.run import hides_something
from runs.models.visibility import visibility_of
from runs.viewer.timeline.step_rows import StepRow
from runs.viewer.timeline.timeline import timeline_context
from webagent.measures import Compared, pieces


class Pair(TypedDict):
    """Numbers of the steps that stand side by side; None where one run has none there."""

    a: int | None
    b: int | None
    same: bool


Did = tuple[str, str]
"""An action, and the page that it was done on."""


def what_was_done(action: str, url: str) -> Did:
    """The key by which steps count as the same: action as written, page without its query.

    A query often holds what no two visits share, such as an id of the session.
    """
    try:
        page = urlsplit(url)
        return " ".join(action.split()), f"{page.scheme}://{page.netloc}{page.path}"
    except ValueError:
        return " ".join(action.split()), url


def align(a: Sequence[tuple[int, Did]], b: Sequence[tuple[int, Did]]) -> Compared[Pair]:
    """The steps of both runs, each in one pair, in order.

    Steps that did the same on the same page stand together; those between, and those that would
    take too long to compare, by position.

    Args:
        a, b: number of each step, and what was done in it.
    """
    compared = pieces([did for _, did in a], [did for _, did in b])
    pairs: Compared[Pair] = Compared(is_whole=compared.is_whole)
    for _tag, from_a, to_a, from_b, to_b in compared:
        pairs += _by_position(a[from_a:to_a], b[from_b:to_b])
    return pairs


def first_difference(pairs: Sequence[Pair]) -> int | None:
    """Place of the first pair whose steps differ; None if none does."""
    return next((place for place, pair in enumerate(pairs) if not pair["same"]), None)


def _by_position(a: Sequence[tuple[int, Did]], b: Sequence[tuple[int, Did]]) -> list[Pair]:
    return [
        Pair(
            a=None if one is None else one[0],
            b=None if other is None else other[0],
            same=one is not None and other is not None and one[1] == other[1],
        )
        for one, other in zip_longest(a, b)
    ]


MAX_CHOICES = 50
Said = Mapping[UUID, Mapping[str, bool]]
"""What evaluators said, by run and by their names."""


Fact = dict[str, Any]
"""One line of the table: a value of each run, ready to be shown."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A run to compare with, how it is related, and the query of the comparison.

    The one that was repeated stands at the left.
    """

    run: Run
    relation: str
    query: str


def comparison_context(a: Run, b: Run, user: User, *, shows_all: bool) -> dict[str, Any]:
    """Everything `runs/viewer/run_compare.html` needs; both runs are out of `visible_to(user)`.

    Args:
        shows_all: also steps that were abandoned or replayed; else those that count.
    """
    sides = [timeline_context(run, user)["timeline"] for run in (a, b)]
    counting = [_counting(side["data"]["steps"]) for side in sides]
    counts_only = not shows_all and all(counting)
    pairs = align(*(_done(run, side, counts_only) for run, side in zip((a, b), sides, strict=True)))
    parts_at = first_difference(pairs)
    facts = _facts(a, b, sides)
    said: Said = {}
    if extension().judgements.may_read(user):
        said = evaluations_of([run for run in (a, b) if not run.is_blind], user)
        facts += _evaluator_facts(a, b, said)
    return {
        "a": a,
        "b": b,
        "goal": a.goal or a.task.goal,
        "sides": [("a", a, sides[0], _result(a, b, said)), ("b", b, sides[1], _result(b, a, said))],
        "notice": _notice(a, b),
        "facts": facts,
        "n_differences": sum(fact["differs"] for fact in facts),
        "has_given_up": any(
            len(some) < len(side["data"]["steps"])
            for some, side in zip(counting, sides, strict=True)
        ),
        "counts_only": counts_only,
        "summary": _summary(pairs, parts_at),
        "is_whole": pairs.is_whole,
        "data": {
            "a": sides[0]["data"],
            "b": sides[1]["data"],
            "pairs": pairs,
            "parts_at": parts_at,
            "words": {
                "pair_of": _("pair %i / %n"),
                "parts": _("first difference"),
                "same": _("same action on the same page"),
                "different": _("differs"),
                "only_a": _("only in A"),
                "only_b": _("only in B"),
                "no_step": _("No steps."),
                "no_pairs": _("No steps."),
                "no_action": _("no action"),
            },
        },
    }


def choices_for(run: Run, user: User) -> list[Choice]:
    """Runs that are worth comparing with: kin first, then others of the task, newest first."""
    others = Run.objects.visible_with(visibility_of(user)).exclude(pk=run.pk)
    kin = _kin(run, others)
    of_task = others.filter(task=run.task_id).exclude(pk__in=kin).order_by("-created_at", "-id")
    newest = of_task.values_list("pk", flat=True)[: MAX_CHOICES - len(kin)]
    return _choices(run, user, [*kin, *newest])


def lineage_of(run: Run, user: User) -> list[Choice]:
    """What the run repeats, and then what repeats it or the same, newest first."""
    return _choices(run, user, _kin(run, Run.objects.exclude(pk=run.pk)))


def _kin(run: Run, others: RunQuerySet[Run]) -> list[UUID]:
    """Those of the others that it repeats, and then the newest that repeat it or the same."""
    kin = others.filter(Q(family=run.root) | Q(pk=run.root))
    is_repeated = When(pk__in=[run.root, run.rerun_of_id], then=0)
    ordered = kin.order_by(Case(is_repeated, default=1), "-created_at", "-id")
    return list(ordered.values_list("pk", flat=True)[:MAX_CHOICES])


def _choices(run: Run, user: User, ids: Sequence[UUID]) -> list[Choice]:
    """Those of these that the person may see, in their order."""
    if not ids:
        return []
    found = Run.objects.visible_to(user, ids).for_list().in_bulk()
    return [_choice(run, found[pk]) for pk in ids if pk in found]


def _choice(run: Run, other: Run) -> Choice:
    """What the other run is to this one; nothing that would tell how either of them ended."""
    is_original = False
    if run.root != other.root or run.is_blind or other.is_blind:
        relation = _("another run of the task")
    elif other.retry_of_id == run.pk or run.retry_of_id == other.pk:
        relation = _("another attempt")
    else:
        repeats = run.rerun_of_id is not None
        is_original = repeats and (run.rerun_of_id == other.pk or not other.rerun_of_id)
        relation = _("rerun") if other.rerun_of_id else _("original")
    left, right = (other, run) if is_original else (run, other)
    return Choice(other, relation, urlencode({"a": left.pk, "b": right.pk}))


def _counting(steps: list[StepRow]) -> list[StepRow]:
    return [step for step in steps if step["state"] == Step.State.LIVE]


def _done(run: Run, side: dict[str, Any], counts_only: bool) -> list[tuple[int, Did]]:
    """Numbers of the steps to be compared, and what was done in each. One query."""
    steps = side["data"]["steps"]
    urls = dict(run.steps.values_list("index", "url"))
    return [
        (step["i"], what_was_done(step["action"], urls[step["i"]]))
        for step in (_counting(steps) if counts_only else steps)
    ]


def _notice(a: Run, b: Run) -> str:
    """What speaks against comparing them step by step; empty if nothing does."""
    if a.pk == b.pk:
        return _("These are the same run.")
    if a.task_id == b.task_id:
        same_seed = a.seed == b.seed or None in (a.seed, b.seed)
        return "" if same_seed else _("The seeds differ, so the content may differ.")
    if a.task.external_id == b.task.external_id:
        return _("The same task in two versions: %(a)s and %(b)s.") % {
            "a": a.task.task_set,
            "b": b.task.task_set,
        }
    return _("These runs are of different tasks.")


def _summary(pairs: list[Pair], parts_at: int | None) -> str:
    if not pairs:
        return _("No steps.")
    if parts_at is None:
        return _("Same actions on the same pages to the end.")
    if parts_at == 0:
        return _("They differ from the first step on.")
    return ngettext(
        "The first step is the same; then they differ.",
        "The first %(n)s steps are the same; then they differ.",
        parts_at,
    ) % {"n": parts_at}


def _facts(a: Run, b: Run, sides: list[dict[str, Any]]) -> list[Fact]:
    left, right = (_values(run, side) for run, side in zip((a, b), sides, strict=True))
    return [_fact(name, left[name], right[name]) for name in left if left[name] or right[name]]


def _fact(name: str, a: str, b: str) -> Fact:
    return {"name": name, "a": a, "b": b, "differs": a != b}


def _result(rerun: Run, original: Run, said: Said) -> RerunResult | None:
    """What came of a rerun, where it is the other run that it repeats."""
    repeats = rerun.rerun_of_id == original.pk and rerun.ended_at is not None
    return (
        result_of(rerun, original, said)
        if repeats and {rerun.pk, original.pk} <= said.keys()
        else None
    )


def _evaluator_facts(a: Run, b: Run, said: Said) -> list[Fact]:
    """What each evaluator said of both; nothing of a run on which the viewer is blind."""

    def told(run: Run, name: str) -> str:
        if run.is_blind:
            return _("hidden")
        passed = said[run.pk].get(name)
        return "—" if passed is None else verdict("passed" if passed else "failed")

    names = sorted({name for verdicts in said.values() for name in verdicts})
    return [_fact(name, told(a, name), told(b, name)) for name in names]


def _values(run: Run, side: dict[str, Any]) -> dict[str, str]:
    """What is known of a run, by name; of what is hidden, that it is hidden."""
    hidden = _("hidden")

    def named(value: object) -> str:
        return hidden if run.is_anonymous else str(value or "—")

    def unblind(value: object) -> str:
        return hidden if run.is_blind else "—" if value is None else str(value)

    given_up = side["n_given_up"]
    policy = run.policy.label if run.policy else "—"
    return {
        _("task"): run.task.external_id,
        _("task set"): str(run.task.task_set),
        _("agent"): named(run.shown_agent),
        _("model"): named(run.shown_model),
        _("experiment"): named(run.shown_experiment),
        _("retry policy"): hidden if hides_something(run) else policy,
        _("seed"): "—" if run.seed is None else str(run.seed),
        _("Trial, attempt"): f"{run.trial}, {run.attempt}",
        _("step limit"): str(run.max_steps or "—"),
        _("outcome"): verdict(run.shown_outcome),
        capfirst(_("end reason")): unblind(run.get_end_reason_display()),
        _("reward"): unblind(run.shown_reward),
        _("final answer"): run.final_answer or "—",
        _("steps"): str(run.n_steps),
        _("abandoned"): str(given_up),
        _("time"): duration(run.seconds),
        _("cost"): hidden if run.is_anonymous else money(run.shown_cost),
    }


@require_safe
def run_compare(request: AppRequest) -> HttpResponse:
    """Runs `a` and `b` of the query, as far as the viewer may see each; `steps=all` for all."""
    a, b = (_chosen(request, side) for side in "ab")
    shows_all = request.GET.get("steps") == "all"
    context = comparison_context(a, b, request.user, shows_all=shows_all)
    return render(request, "runs/viewer/run_compare.html", context)


@require_safe
def run_compare_choices(request: AppRequest, run_id: UUID) -> HttpResponse:
    """What the run can be compared with, for the run page's dialog."""
    run = get_object_or_404(Run.objects.visible_to(request.user, [run_id]))
    choices = choices_for(run, request.user)
    return render(request, "runs/viewer/_compare_choices.html", {"run": run, "choices": choices})


def _chosen(request: AppRequest, side: str) -> Run:
    """The run of one side.

    Raises:
        Http404: none is named, or the viewer may not open it.
    """
    try:
        pk = UUID(request.GET.get(side, ""))
    except ValueError:
        raise Http404 from None
    runs = Run.objects.visible_to(request.user, [pk]).select_related("task__task_set", "policy")
    return get_object_or_404(runs)
