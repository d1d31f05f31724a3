"""Hints that people and programs have written: the page, its estimate, and the start."""

from typing import Any, cast

from django import forms
from django.contrib import messages
from django.db.models import QuerySet
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, override
from django.views.decorators.http import require_http_methods
from pydantic import ValidationError

from judging.analysis.experiments.access import PERMISSIONS, record_verdicts
from judging.analysis.experiments.population import Choice, Source, default_source, read_source
from judging.analysis.hint_effects.source_runs import (
    MOST_PER_TASK,
    SourceRunQuery,
    SourceRuns,
    WritingEstimate,
    listed,
    source_runs,
    writing_estimate,
)
from runs.catalogue.language_models import (
    ModelOffer,
    ModelUnavailableError,
    usable_entry,
    usable_models,
)
from runs.interface.requests import AppRequest, needs
from runs.knowledge.hints.writing import start_hint_writing
from runs.launching.form_fields import WholeNumberField
from runs.models import Experiment, HintLevel, LearningJob, TaskSet, User
from runs.queue.paid_work import WorkRefusedError
from runs.queue.paid_work_services import CostLimitField
from webagent.knowledge.entries import Level
from webagent.knowledge.hints import LONGEST_PART, OWN_PARTS, HintWords, load_wording
from webagent.trajectory.values import field_errors

MOST_OFFERED = 300
"""Experiments in the menu."""


def _part(label: Any) -> forms.CharField:
    return forms.CharField(
        label=label,
        required=False,
        max_length=LONGEST_PART,
        widget=forms.Textarea(attrs={"rows": 6}),
    )


class HintWritingForm(forms.Form):
    """Where sources come from, whose verdicts count, and what is written by which model."""

    task_set = forms.ChoiceField(label=gettext_lazy("task set"), required=False)
    experiment = forms.ModelChoiceField(
        queryset=Experiment.objects.none(),
        label=gettext_lazy("experiment"),
        required=False,
        empty_label=gettext_lazy("all runs, imported ones and people's too"),
    )
    agent = forms.ChoiceField(label=gettext_lazy("agent or person"), required=False)
    verdict = forms.ChoiceField(
        label=capfirst(gettext_lazy("verdict source")),
        help_text=gettext_lazy("Runs that succeeded by it are sources; of each task the shortest."),
    )
    levels = forms.TypedMultipleChoiceField(
        label=gettext_lazy("level"),
        coerce=Level,
        choices=HintLevel.choices,
        initial=HintLevel.values,
        widget=forms.CheckboxSelectMultiple,
    )
    per_task = WholeNumberField(
        label=gettext_lazy("Runs per hint"),
        min_value=1,
        max_value=MOST_PER_TASK,
        initial=1,
        required=False,
        help_text=gettext_lazy(
            "Several: each hint is written from so many runs of its task, the shortest, where "
            "there are as many."
        ),
    )
    model = forms.ChoiceField(label=gettext_lazy("Language model"))
    max_cost = CostLimitField(
        help_text=gettext_lazy(
            "Leave empty for no limit. At the limit, work stops and can be resumed."
        )
    )
    wording_name = forms.CharField(
        label=gettext_lazy("Name of the prompt"), required=False, max_length=20
    )
    wording_system = _part(gettext_lazy("introduction"))
    wording_concrete = _part(HintLevel.CONCRETE.label)
    wording_abstract = _part(HintLevel.ABSTRACT.label)
    wording_insights = _part(HintLevel.INSIGHTS.label)

    def __init__(self, *args: Any, user: User, models: list[ModelOffer], **options: Any) -> None:
        super().__init__(*args, **options)
        self._user = user
        experiments = Experiment.objects.visible_to(user).order_by("-created_at", "-pk")
        chosen = cast("forms.ModelChoiceField[Experiment]", self.fields["experiment"])
        chosen.queryset = experiments
        chosen.choices = self._newest(experiments)
        names = TaskSet.objects.order_by("name").values_list("name", flat=True).distinct()
        self._offer("task_set", [("", _("all")), *((name, name) for name in names)])
        agents = SourceRunQuery(user=user).agents()
        self._offer("agent", [("", _("any")), *((name, name) for name in agents)])
        sources = SourceRunQuery(user=user).choices()
        self._offer("verdict", [(each.source.key, _in_words(each)) for each in sources])
        self.fields["verdict"].initial = default_source(sources).key
        self._offer("model", [(offer.name, offer.name) for offer in models])

    @property
    def source_query(self) -> SourceRunQuery:
        """Which runs may be sources, of a valid form."""
        asked = self.cleaned_data
        return SourceRunQuery(
            user=self._user,
            task_set=asked["task_set"],
            experiment=asked["experiment"],
            agent=asked["agent"],
        )

    @property
    def source(self) -> Source:
        """Who says that they succeeded."""
        return read_source(self.cleaned_data["verdict"])

    wording: HintWords | None = None
    """Other words than ours; known once the form is valid."""

    @property
    def words(self) -> list[dict[str, Any]]:
        """The fields of other words, each with ours."""
        ours = load_wording().parts
        return [
            {"field": self[f"wording_{part}"], "ours": ours[part].strip()} for part in OWN_PARTS
        ]

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        given = {part: str(cleaned.get(f"wording_{part}") or "") for part in OWN_PARTS}
        name = str(cleaned.get("wording_name") or "").strip()
        if (name or any(text.strip() for text in given.values())) and not self.errors:
            try:
                self.wording = HintWords(name=name, **given)
            except ValidationError as error:
                for problem in field_errors(error):
                    self.add_error("wording_name", str(problem))
        return cleaned

    def _newest(self, experiments: QuerySet[Experiment]) -> list[tuple[Any, str]]:
        """The menu: the newest, and the one that is asked for however old it is."""
        offered = list(experiments[:MOST_OFFERED])
        asked = str(self["experiment"].value() or "")
        if asked.isdecimal() and len(asked) < 18:
            offered += [row for row in experiments.filter(pk=int(asked)) if row not in offered]
        nobody = str(self.fields["experiment"].empty_label)  # type: ignore[attr-defined]
        return [("", nobody), *((row.pk, str(row)) for row in offered)]

    def _offer(self, name: str, values: list[Any]) -> None:
        cast("forms.ChoiceField", self.fields[name]).choices = values


def _in_words(choice: Choice) -> str:
    verdicts = f"{choice.verdicts}+" if choice.is_more else choice.verdicts
    return f"{choice.source.name} ({verdicts})"


MOST_LISTED = 200
WRITING = "sources of hints"


@require_http_methods(["GET", "HEAD", "POST"])
@needs(*PERMISSIONS, "runs.add_hint")
def hint_write(request: AppRequest) -> HttpResponse:
    """The form; sent with `estimate` it lists the sources, with `start` it has hints written."""
    models, problem = usable_models()
    is_sent = "start" in request.POST or "estimate" in request.POST
    given = request.POST if is_sent else None
    initial = {
        name: request.GET[name] for name in ("task_set", "experiment") if name in request.GET
    }
    form = HintWritingForm(given, user=request.user, models=models, initial=initial)
    if "estimate" in request.POST:
        return render(
            request, "judging/analysis/hint_effects/_hint_sources.html", _estimated(request, form)
        )
    if "start" in request.POST and form.is_valid() and (response := _started(request, form)):
        return response
    context = {"form": form, "problem": problem}
    return render(
        request,
        "judging/analysis/hint_effects/hint_write.html",
        context,
        status=422 if is_sent else 200,
    )


def _estimated(request: AppRequest, form: HintWritingForm) -> dict[str, Any]:
    """The sources and what writing takes, or what is wrong with the form."""
    if not form.is_valid():
        name, errors = next(iter(form.errors.items()))
        return {"problem": f"{form[name].label}: {errors[0]}"}
    sources, estimate = planned(request, form)
    return {
        "source": form.source,
        "runs": list(listed(sources.runs)[:MOST_LISTED]),
        "n_runs": len(sources.runs),
        "n_further": len(sources.every) - len(sources.runs),
        "estimate": estimate,
    }


def planned(request: AppRequest, form: HintWritingForm) -> tuple[SourceRuns, WritingEstimate]:
    """The sources of a valid form, and what writing from them takes; to read them is recorded.

    Raises ModelUnavailableError where the model cannot be asked.
    """
    asked = form.cleaned_data
    sources = source_runs(form.source_query, form.source, asked["per_task"] or 1)
    record_verdicts(request, form.source, sources.every, WRITING)
    entry = usable_entry(asked["model"])
    return sources, writing_estimate(sources, asked["levels"], entry, form.wording)


def started(request: AppRequest, form: HintWritingForm) -> LearningJob:
    """The job that a valid form asks for.

    Raises WorkRefusedError where no run succeeded, or the model cannot be asked so.
    """
    source = form.source
    try:
        sources, expected = planned(request, form)
    except ModelUnavailableError as error:
        raise WorkRefusedError(str(error)) from error
    with override("en"):
        # Kept as everybody's, and told in each reader's own language.
        name, rule = source.name, source.rule
    return start_hint_writing(
        model=form.cleaned_data["model"],
        run_ids=sources.runs,
        further=sources.further,
        levels=form.cleaned_data["levels"],
        wording=form.wording,
        verdict=source.key,
        verdict_name=name,
        verdict_rule=rule,
        max_cost=form.cleaned_data["max_cost"],
        estimate=expected.as_json(),
        user=request.user,
    )


def _started(request: AppRequest, form: HintWritingForm) -> HttpResponse | None:
    try:
        job = started(request, form)
    except WorkRefusedError as error:
        form.add_error(None, str(error))
        return None
    messages.success(request, _("Hints are being written."))
    return redirect("runs:hint_job", job.pk)
