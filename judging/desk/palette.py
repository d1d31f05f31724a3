"""The command palette: pages, actions, studies, experiments and runs by a few letters."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from django.db.models import Q
from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.text import Truncator, capfirst
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_safe
from django.views.decorators.vary import vary_on_headers

from judging.models import Study
from judging.portability.label_imports.services import NEEDED as IMPORT_LABELS
from judging.studies.access import AUDIT, studies_hidden_from
from runs.interface.filters import without_nul
from runs.interface.requests import AppRequest, wants_partial
from runs.models import Experiment, Run, User
from runs.models.parsing import ids_beginning
from runs.models.runs.queries import RunQuerySet
from runs.models.visibility import visibility_of

MOST = 6
"""Studies, experiments and runs shown of each."""
LONGEST = 100
ID_DIGITS = 4
"""So many tell a run."""
GOAL_CHARS = 90


class Entry(NamedTuple):
    """One line of the palette. `note` says which of several of the same name it is."""

    name: str
    address: str
    note: str = ""


class Group(NamedTuple):
    """Lines under a heading."""

    title: str
    entries: Sequence[Entry]


class Place(NamedTuple):
    """A page of the site, for whoever has the permissions."""

    name: Promise
    view: str
    needs: Sequence[str] = ()


PAGES = (
    Place(gettext_lazy("Home"), "judging:home"),
    Place(gettext_lazy("runs"), "runs:run_list"),
    Place(gettext_lazy("studies"), "judging:study_list"),
    Place(gettext_lazy("Disputes"), "judging:dispute_list"),
    Place(gettext_lazy("Audit"), "judging:audit_home", [AUDIT]),
    Place(gettext_lazy("Evaluation batches"), "judging:batch_list", [AUDIT]),
    Place(gettext_lazy("Experiments"), "runs:experiment_list", ["runs.view_experiment"]),
    Place(
        gettext_lazy("Replications"), "judging:replication_list", ["runs.view_experiment", AUDIT]
    ),
    Place(gettext_lazy("Reruns"), "runs:rerun_list", ["runs.rerun_run"]),
    Place(gettext_lazy("Live"), "runs:live_wall", ["runs.rerun_run"]),
    Place(gettext_lazy("Retry policies"), "runs:policy_list", ["runs.rerun_run"]),
    Place(gettext_lazy("Infrastructure"), "runs:infrastructure", ["runs.rerun_run"]),
    Place(gettext_lazy("tasks"), "runs:task_list", ["runs.view_task"]),
    Place(gettext_lazy("hints"), "runs:hint_list", ["runs.add_hint"]),
    Place(gettext_lazy("web knowledge"), "runs:knowledge_list", ["runs.view_knowledgeset"]),
    Place(gettext_lazy("Imports"), "runs:import_list", ["runs.import_run"]),
    Place(gettext_lazy("Storage"), "runs:space", ["runs.manage_space"]),
    Place(gettext_lazy("Audit log"), "runs:audit_log", ["runs.read_acts"]),
    Place(gettext_lazy("API tokens"), "runs:token_list"),
    Place(gettext_lazy("API reference"), "judging:api_reference"),
)
ACTIONS = (
    Place(gettext_lazy("Import runs"), "runs:import_list", ["runs.import_run"]),
    Place(gettext_lazy("Import labels"), "judging:label_import_list", IMPORT_LABELS),
    Place(gettext_lazy("New study"), "judging:study_create", ["judging.add_study"]),
    Place(
        gettext_lazy("New experiment"),
        "runs:experiment_new",
        ["runs.view_experiment", "runs.rerun_run"],
    ),
    Place(gettext_lazy("New policy"), "runs:policy_new", ["runs.rerun_run"]),
    Place(gettext_lazy("Rerun by policy"), "runs:policy_reruns", ["runs.rerun_run"]),
    Place(
        gettext_lazy("extract web knowledge"),
        "runs:knowledge_extract",
        ["runs.view_knowledgeset", "runs.add_knowledgeset"],
    ),
    Place(gettext_lazy("write hints"), "judging:hint_write", [AUDIT, "runs.add_hint"]),
    Place(gettext_lazy("Change password"), "password_change"),
)


@require_safe
@vary_on_headers("HX-Request")
def palette(request: AppRequest) -> HttpResponse:
    """Pages, actions, studies, experiments and runs that fit what was typed."""
    typed = without_nul(request.GET.get("q"))
    context = {
        "groups": found(request.user, typed),
        "typed": typed,
        "is_part": wants_partial(request),
    }
    return render(request, "judging/desk/palette.html", context)


def found(user: User, typed: str) -> list[Group]:
    """What the person may open that fits the words; without words, all pages and actions."""
    text = " ".join(typed[:LONGEST].lower().split())
    groups = (
        Group(_("go to"), list(_places(PAGES, user, text))),
        Group(_("Actions"), list(_places(ACTIONS, user, text))),
        Group(_("studies"), list(_studies(user, text)) if text else []),
        Group(_("Experiments"), list(_experiments(user, text)) if text else []),
        Group(_("runs"), list(_runs(user, text)) if text else []),
    )
    return [group for group in groups if group.entries]


def _places(places: Sequence[Place], user: User, text: str) -> Iterator[Entry]:
    for place in places:
        name = capfirst(str(place.name))
        if all(word in name.lower() for word in text.split()) and user.has_perms(place.needs):
            yield Entry(name, reverse(place.view))


def _studies(user: User, text: str) -> Iterator[Entry]:
    """Each study, and its audit where the person may read that."""
    studies = list(Study.objects.listed_for(user).filter(_named(text)).order_by("-pk")[:MOST])
    audited: set[int] = set()
    if user.has_perm(AUDIT):
        keys = {study.pk for study in studies}
        hidden = studies_hidden_from(user).filter(pk__in=keys)
        audited = keys - set(hidden.values_list("pk", flat=True))
    for study in studies:
        yield Entry(study.name, reverse("judging:study_detail", args=[study.pk]))
        if study.pk in audited:
            yield Entry(study.name, reverse("judging:audit", args=[study.pk]), _("Audit"))


def _experiments(user: User, text: str) -> Iterator[Entry]:
    if user.has_perm("runs.view_experiment"):
        experiments = Experiment.objects.visible_to(user).filter(_named(text))
        for pk, name in experiments.values_list("pk", "name")[:MOST]:
            yield Entry(name, reverse("judging:experiment_detail", args=[pk]))


def _runs(user: User, text: str) -> Iterator[Entry]:
    """Runs whose id begins so, or whose goal holds the words; then the way to all of those."""
    runs = Run.objects.visible_with(visibility_of(user)).not_archived()
    for run in _by_id(runs, text) or _by_goal(runs, text):
        goal = Truncator(run.title).chars(GOAL_CHARS)
        yield Entry(goal, reverse("runs:run_detail", args=[run.pk]), f"{run.pk.hex[:8]}")


def _by_id(runs: RunQuerySet[Run], text: str) -> list[Run]:
    ids = ids_beginning(text, least=ID_DIGITS)
    if ids is None:
        return []
    return list(runs.filter(pk__range=ids).for_list().order_by("pk")[:MOST])


def _by_goal(runs: RunQuerySet[Run], text: str) -> list[Run]:
    newest = runs.order_by("-created_at", "-pk")
    # Their keys first: beside another table SQLite would sort all that match.
    keys = newest.with_words(text).latest_attempts().values_list("pk", flat=True)[:MOST]
    return list(newest.filter(pk__in=list(keys)).for_list())


def _named(text: str) -> Q:
    return Q(*[("name__icontains", word) for word in text.split()])
