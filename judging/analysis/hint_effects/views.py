"""What hints changed in an experiment: heat maps, the tasks behind a cell, files."""

from __future__ import annotations

from typing import Any, cast

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import permission_required
from django.db.models import QuerySet
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, override
from django.views.decorators.http import require_http_methods, require_safe

from judging.analysis.experiments.access import (
    PERMISSIONS,
    facts_of,
    for_readers,
    freshness,
    record_verdicts,
    render_facts,
)
from judging.analysis.experiments.population import Scope
from judging.analysis.experiments.sources import Choice, Source, default_source, read_source
from judging.analysis.hint_effects.page import (
    all_undecided,
    baseline_share,
    cell_page,
    chance_alarm,
)
from judging.analysis.hint_effects.pictures import MAPS, heat_map
from judging.analysis.hint_effects.reports import HINTS
from judging.analysis.hint_effects.source_runs import (
    SourceRunQuery,
    listed,
    source_ids,
    writing_estimate,
)
from judging.analysis.reports.html import html_tables
from judging.analysis.reports.views import as_picture
from runs.catalogue.agents.choices import (
    ModelOffer,
    usable_entry,
    usable_models,
)
from runs.interface.fragments import AppRequest
from runs.knowledge.hints.writing import start_hint_writing
from runs.launching.experiments.hint_plans import Condition
from runs.models import Experiment, HintLevel, TaskSet, User
from runs.queue.paid_work import WorkRefusedError
from runs.queue.paid_work_services import CostLimitField
from webagent.knowledge.entries import Level, Relatedness

MOST_OFFERED = 300
"""Experiments in the menu."""


class HintWritingForm(forms.Form):
    """Where sources come from, whose verdicts count, and what is written by which model."""

    task_set = forms.ChoiceField(label=gettext_lazy("Task set"), required=False)
    experiment = forms.ModelChoiceField(
        queryset=Experiment.objects.none(),
        label=gettext_lazy("Experiment"),
        required=False,
        empty_label=gettext_lazy("all runs, imported ones and people's too"),
    )
    agent = forms.ChoiceField(label=gettext_lazy("Agent or person"), required=False)
    verdict = forms.ChoiceField(
        label=gettext_lazy("Verdict source"),
        help_text=gettext_lazy("Runs that succeeded by it are sources; of each task the shortest."),
    )
    levels = forms.MultipleChoiceField(
        label=gettext_lazy("Levels"),
        choices=HintLevel.choices,
        initial=HintLevel.values,
        widget=forms.CheckboxSelectMultiple,
    )
    model = forms.ChoiceField(label=gettext_lazy("Language model"))
    max_cost = CostLimitField()

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

    @property
    def levels_asked(self) -> list[Level]:
        return [Level(each) for each in self.cleaned_data["levels"]]

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


@require_safe
@for_readers
def hint_report(request: AppRequest, scope: Scope) -> HttpResponse:
    """Every condition against the same agent without hints."""
    facts = facts_of(request, scope)
    effects = facts.hints
    pictures = [(name, each, heat_map(effects, name)) for name, each in MAPS.items()]
    return render_facts(
        request,
        "hint_effects/hint_report",
        facts,
        freshness=freshness(scope.experiment, request.user),
        effects=effects,
        choices=facts.choices,
        report_tables=html_tables(HINTS.make("hint-cells", facts)) if effects.cells else [],
        baseline=baseline_share(effects),
        undecided=all_undecided(effects),
        chance_alarm=chance_alarm(len(effects.cells)),
        pictures=pictures if effects.cells else [],
        tables=HINTS.names,
    )


@require_safe
@for_readers
def hint_cell(request: AppRequest, scope: Scope, level: str, relatedness: str) -> HttpResponse:
    """The tasks of one condition, each with its trials side by side."""
    facts = facts_of(request, scope)
    try:
        condition = Condition(Level(level), Relatedness(relatedness))
        page = cell_page(facts.hints, condition, request.user)
    except (ValueError, KeyError) as error:
        raise Http404 from error
    record_verdicts(request, facts.source, page["run_ids"])
    return render_facts(request, "hint_effects/hint_cell", facts, page=page)


@require_safe
@for_readers
def hint_picture(request: AppRequest, scope: Scope, name: str) -> HttpResponse:
    """One of the heat maps as a file."""
    if name not in MAPS:
        raise Http404
    return as_picture(heat_map(facts_of(request, scope).hints, name), f"hints-{name}")


MOST_LISTED = 200
WRITING = "sources of hints"


@require_http_methods(["GET", "HEAD", "POST"])
@permission_required([*PERMISSIONS, "runs.add_hint"], raise_exception=True)
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
    run_ids = source_ids(form.source_query, form.source)
    shown = list(listed(run_ids)[:MOST_LISTED])
    record_verdicts(request, form.source, [run.pk for run in shown], WRITING)
    entry = usable_entry(form.cleaned_data["model"])
    return {
        "source": form.source,
        "runs": shown,
        "n_runs": len(run_ids),
        "estimate": writing_estimate(run_ids, form.levels_asked, entry) if run_ids else None,
    }


def _started(request: AppRequest, form: HintWritingForm) -> HttpResponse | None:
    source = form.source
    run_ids = source_ids(form.source_query, source)
    record_verdicts(request, source, run_ids, WRITING)
    with override("en"):
        # Kept as everybody's, and told in each reader's own language.
        name, rule = source.name, source.rule
    try:
        job = start_hint_writing(
            model=form.cleaned_data["model"],
            run_ids=run_ids,
            levels=form.levels_asked,
            verdict=source.key,
            verdict_name=name,
            verdict_rule=rule,
            max_cost=form.cleaned_data["max_cost"],
            user=request.user,
        )
    except WorkRefusedError as error:
        form.add_error(None, str(error))
        return None
    messages.success(request, _("Hints are being written."))
    return redirect("runs:hint_job", job.pk)
