"""Who takes part in a study."""

from django.contrib import messages
from django.contrib.auth.decorators import permission_required
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from judging.models import Study, StudyMember
from judging.studies.forms import MemberForm
from judging.studies.pages import MANAGE
from judging.studies.services import (
    HasAdjudicatedError,
    HasLabelledError,
    MayNotAdjudicateError,
    MemberError,
    remove_member,
    set_member,
)
from runs.interface.fragments import AppRequest


@require_POST
@permission_required(MANAGE, raise_exception=True)
def member_add(request: AppRequest, study_id: int) -> HttpResponse:
    """Give a person a part in the study."""
    study = get_object_or_404(Study, pk=study_id)
    form = MemberForm(request.POST, study=study)
    if not form.is_valid():
        messages.error(request, _("Choose a person who has no part in this study yet."))
        return redirect("judging:study_detail", study.pk)
    person = form.cleaned_data["user"]
    try:
        set_member(study=study, user=person, part=StudyMember.Part(form.cleaned_data["part"]))
    except MemberError as refused:
        messages.error(request, _why(refused) % {"person": person})
    return redirect("judging:study_detail", study.pk)


@require_POST
@permission_required(MANAGE, raise_exception=True)
def member_remove(request: AppRequest, study_id: int, user_id: int) -> HttpResponse:
    """End a person's part."""
    study = get_object_or_404(Study, pk=study_id)
    member = get_object_or_404(study.members.select_related("user"), user=user_id, left_at=None)
    remove_member(study=study, user=member.user)
    messages.info(
        request,
        _("%(person)s has left the study. Labels given stay.") % {"person": member.user},
    )
    return redirect("judging:study_detail", study.pk)


def _why(refused: MemberError) -> str:
    words = {
        MayNotAdjudicateError: _(
            "%(person)s does not have the role of an adjudicator. An administrator can give it."
        ),
        HasLabelledError: _("%(person)s has labelled in this study and so cannot adjudicate it."),
        HasAdjudicatedError: _("%(person)s has seen labels of this study and so cannot annotate."),
    }
    return words[type(refused)]
