"""Studies: the list, one study, its creation, its members and its guidelines."""

from functools import partial

from django.contrib import messages
from django.core.paginator import Paginator
from django.db import IntegrityError
from django.db.models import Q
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods, require_POST, require_safe
from django.views.decorators.vary import vary_on_headers
from django_tables2 import RequestConfig

from judging.models import Study, StudyItem, StudyMember
from judging.studies.blinding import states_hidden_from
from judging.studies.forms import GuidelineForm, MemberForm, StudyForm
from judging.studies.imported import IMPORTED
from judging.studies.labels.pages import progress_of_each
from judging.studies.pages import (
    MANAGE,
    count_for_nobody,
    item_counts,
    items_page,
    member_rows,
    own_labels,
    runs_with_milestones,
    shows_label_times,
    study_rows,
)
from judging.studies.protocols import (
    PRESETS,
    Preset,
    cause_choices,
    guideline_context,
    preset,
    render_markdown,
)
from judging.studies.services import (
    MAX_RUNS,
    MemberError,
    add_guideline,
    close_study,
    create_study,
    draw,
    matching_runs,
    remove_member,
    run_filter,
    set_member,
)
from judging.studies.tables import STUDIES, StudyFilter, StudyListTable
from runs.interface.lists import default_address, list_context
from runs.interface.paging import BoundedPaginator, count_rows
from runs.interface.requests import AppRequest, demand, needs
from runs.interface.table_rows import menu_of
from runs.models import User
from runs.models.parsing import read_choice
from runs.operations.error_views import bad_queries

PER_PAGE = 50
PROTOCOL = "protocol"


@require_safe
@vary_on_headers("HX-Request")
def study_list(request: AppRequest) -> HttpResponse:
    """Studies of which the person is a member; all of them for who manages studies."""
    if own := default_address(request, STUDIES):
        return redirect(own)
    found = StudyFilter(request.GET, user=request.user)
    table = StudyListTable(found.qs, request.user)
    RequestConfig(
        request, paginate={"per_page": PER_PAGE, "paginator_class": BoundedPaginator}
    ).configure(table)
    context = {"table": table, "filter": found, **list_context(request, STUDIES)}
    return render(request, "judging/studies/study_list.html", context)


@require_safe
def study_menu(request: AppRequest) -> HttpResponse:
    """The choices of a filter, and how many studies each of them finds beside other filters."""
    of = partial(StudyFilter, user=request.user)
    return HttpResponse(menu_of(request.GET, of, StudyFilter.counts))


@require_safe
def study_preview(request: AppRequest, study_id: int) -> HttpResponse:
    """What the pane beside the list shows of a study."""
    study = get_object_or_404(Study.objects.listed_for(request.user), pk=study_id)
    context = {
        "study": study,
        "row": study_rows(request.user, [study])[0],
        "causes": cause_choices(study.taxonomy),
        **guideline_context(study.newest_guideline),
    }
    return render(request, "judging/studies/_study_preview.html", context)


@require_safe
def study_detail(request: AppRequest, study_id: int) -> HttpResponse:
    """One study: the rules, one's own work, and for who manages it everybody's progress."""
    study = get_object_or_404(Study.objects.listed_for(request.user), pk=study_id)
    member = study.members.filter(user=request.user, left_at=None).first()
    part = member.part if member else ""
    annotated = [study] if part == StudyMember.Part.ANNOTATOR else []
    hidden = states_hidden_from(request.user)
    context = {
        "study": study,
        "part": part,
        "is_imported": bool(study.run_filter.get(IMPORTED)),
        "causes": cause_choices(study.taxonomy),
        "with_milestones": runs_with_milestones(study) if study.asks_milestones else 0,
        **guideline_context(study.newest_guideline),
        "progress": progress_of_each(annotated, request.user).get(study.pk),
        "labels": Paginator(own_labels(study, request.user, hidden), PER_PAGE).get_page(
            request.GET.get("page")
        ),
        **(
            _management(request, study, hidden)
            if request.user.has_perm("judging.view_study")
            else {}
        ),
    }
    return render(request, "judging/studies/study_detail.html", context)


def _management(request: AppRequest, study: Study, hidden: Q) -> dict[str, object]:
    with_times = shows_label_times(study, request.user)
    may_manage = request.user.has_perm(MANAGE)
    with bad_queries():
        status = read_choice(request.GET, "status", StudyItem.Status)
    return {
        "counts": item_counts(study, hidden),
        "members": member_rows(study, with_times=with_times),
        "with_times": with_times,
        "member_form": MemberForm(study=study) if may_manage else None,
        "n_for_nobody": count_for_nobody(study, request.user) if may_manage else 0,
        "items": items_page(study, hidden, request.GET.get("runs"), status),
        "status": status,
        "knowing": _knows_outcomes(study),
    }


def _knows_outcomes(study: Study) -> list[User]:
    """Annotators whose role lets them read verdicts outside this study."""
    members = study.members.filter(part=StudyMember.Part.ANNOTATOR, left_at=None)
    people = [member.user for member in members.select_related("user")]
    return [person for person in people if person.has_perm("runs.view_run")]


@vary_on_headers("HX-Request", "HX-Target")
@require_http_methods(["GET", "HEAD", "POST"])
@needs("judging.add_study")
def study_create(request: AppRequest) -> HttpResponse:
    """Choose runs by the filters of the runs table, and state the protocol.

    The page asks for either of these alone, so that nothing typed into the rest is lost.
    """
    chosen = preset(request.GET.get(PROTOCOL))
    query = request.POST.get("query", "") if request.method == "POST" else _run_query(request)
    data = request.POST if request.method == "POST" else None
    form = StudyForm(data, initial={**chosen.initial, "query": query})
    if request.method == "POST" and form.is_valid():
        study = _create(request, form, query)
        if study:
            return redirect("judging:study_detail", study.pk)
    context = {
        "form": form,
        "steps": form.steps,
        "filter": run_filter(query, request.user),
        "n_matching": count_rows(matching_runs(query, request.user)),
        "most": MAX_RUNS,
        "presets": [(each, _preset_address(each, query)) for each in PRESETS],
        "chosen": chosen,
    }
    return render(
        request, "judging/studies/study_create.html", context, status=422 if form.errors else 200
    )


def _preset_address(each: Preset, query: str) -> str:
    """What the address of the page asks for with this protocol and the same filters of runs."""
    return "&".join(filter(None, [each.key and f"{PROTOCOL}={each.key}", query]))


def _run_query(request: AppRequest) -> str:
    """The filters of runs in the address, without the protocol that stands beside them."""
    given = request.GET.copy()
    given.pop(PROTOCOL, None)
    return given.urlencode()


def _create(request: AppRequest, form: StudyForm, query: str) -> Study | None:
    data = form.cleaned_data
    keys = list(matching_runs(query, request.user).order_by().values_list("pk", flat=True))
    if not keys:
        form.add_error(None, _("Nothing matches these filters"))
        return None
    chosen = draw(keys, min(data["sample_size"] or len(keys), MAX_RUNS), data["seed"])
    try:
        study = create_study(
            name=data["name"],
            description=data["description"],
            run_ids=chosen,
            protocol=form.protocol(),
            guidelines=data["guidelines"],
            created_by=request.user,
            run_query=query,
            seed=data["seed"],
            sample_size=data["sample_size"],
            members=form.members,
        )
    except MemberError as refused:  # a role was taken from somebody since the form was shown
        form.add_error("adjudicators", str(refused.words) % {"person": form["adjudicators"].label})
        return None
    except IntegrityError:
        if not Study.objects.filter(name=data["name"]).exists():
            raise
        form.add_error("name", _("This name is taken."))  # by somebody, in this very moment
        return None
    made = ngettext("Study created with %(n)d run.", "Study created with %(n)d runs.", len(chosen))
    messages.success(request, made % {"n": len(chosen)})
    return study


@require_http_methods(["GET", "HEAD", "POST"])
def guidelines(request: AppRequest, study_id: int) -> HttpResponse:
    """All versions of the guidelines; who manages the study adds the next one."""
    study = get_object_or_404(Study.objects.listed_for(request.user), pk=study_id)
    versions = list(study.guidelines.select_related("created_by").order_by("-version"))
    may_write = request.user.has_perm(MANAGE)
    if request.method == "POST":
        demand(request.user, MANAGE)
    form = GuidelineForm(
        request.POST if request.method == "POST" else None,
        initial={"text": versions[0].text if versions else ""},
    )
    if request.method == "POST" and form.is_valid():
        added = add_guideline(study=study, text=form.cleaned_data["text"], author=request.user)
        messages.success(
            request, _("Version %(n)d applies from the next run on.") % {"n": added.version}
        )
        return redirect("judging:guidelines", study.pk)
    context = {
        "study": study,
        "versions": [(version, render_markdown(version.text)) for version in versions],
        "form": form if may_write else None,
    }
    return render(
        request, "judging/studies/guidelines.html", context, status=422 if form.errors else 200
    )


@require_POST
@needs(MANAGE)
def study_close(request: AppRequest, study_id: int) -> HttpResponse:
    """End the study for good."""
    study = get_object_or_404(Study, pk=study_id)
    close_study(study=study)
    messages.success(request, _("This study is closed"))
    return redirect("judging:study_detail", study.pk)


@require_POST
@needs(MANAGE)
def member_add(request: AppRequest, study_id: int) -> HttpResponse:
    """Add a member to the study."""
    study = get_object_or_404(Study, pk=study_id)
    form = MemberForm(request.POST, study=study)
    if not form.is_valid():
        messages.error(request, _("Choose a person who is not in this study yet."))
        return redirect("judging:study_detail", study.pk)
    person = form.cleaned_data["user"]
    try:
        set_member(study=study, user=person, part=StudyMember.Part(form.cleaned_data["part"]))
    except MemberError as refused:
        messages.error(request, str(refused.words) % {"person": person})
    return redirect("judging:study_detail", study.pk)


@require_POST
@needs(MANAGE)
def member_remove(request: AppRequest, study_id: int, user_id: int) -> HttpResponse:
    """End a person's part."""
    study = get_object_or_404(Study, pk=study_id)
    member = get_object_or_404(study.members.select_related("user"), user=user_id, left_at=None)
    remove_member(study=study, user=member.user)
    messages.info(
        request, _("%(person)s has left the study. Existing labels stay.") % {"person": member.user}
    )
    return redirect("judging:study_detail", study.pk)
