"""The form that plans an experiment."""

import uuid
from collections.abc import Callable
from typing import Any, TypeVar

from django import forms
from django.utils.text import capfirst
from django.utils.translation import gettext_lazy as _

from runs.catalogue.tasks.rows import task_set_choices
from runs.launching.experiments.estimates import estimate
from runs.launching.experiments.plans import (
    MAX_TRIALS,
    Plan,
    chosen_agents,
    experiment_agent_choices,
    gaps,
    read_seeds,
)
from runs.launching.experiments.selection import (
    PlanError,
    Selection,
    kind_of,
    read_budgets,
    read_names,
    read_step_limits,
    tasks_of,
    with_arms,
)
from runs.launching.experiments.services import late_responses, launch_experiment, plan_problem
from runs.launching.form_fields import WholeNumberField, offer
from runs.models import Experiment, RetryPolicy, Task, User
from runs.models.hooks import LinkedPage
from webagent.agents.settings import MAX_STEPS
from webagent.trajectory.records import AgentRecord

NEEDED_AT_LAUNCH = ("name",)
"""Fields that an estimate can do without."""
AS_ASKED = ("trials", "policy", "parallelism", "in_background", "waits_for_sites")
"""What the plan takes over from the form as it is."""

Read = TypeVar("Read")


class PolicyField(forms.ModelChoiceField):  # type: ignore[type-arg]
    """A choice of policies under their labels."""

    def label_from_instance(self, obj: RetryPolicy) -> str:
        return obj.label


class ExperimentForm(forms.Form):
    """Tasks, agents, trials and seeds; `token` tells one click from another."""

    step_limits = tuple(MAX_STEPS.values())
    page = "experiment"
    """In the names of the templates of its launch page."""
    landing = LinkedPage.EXPERIMENT
    """The page of what was launched."""

    name = forms.CharField(
        label=_("name"), max_length=200, error_messages={"required": _("Required.")}
    )
    task_set = forms.ChoiceField(label=_("task set"))
    sites = forms.MultipleChoiceField(
        label=_("site"), required=False, widget=forms.CheckboxSelectMultiple
    )
    kinds = forms.MultipleChoiceField(
        label=_("evaluation"), required=False, widget=forms.CheckboxSelectMultiple
    )
    tasks = forms.CharField(
        label=_("Only these tasks"),
        required=False,
        max_length=100_000,
        widget=forms.Textarea(attrs={"rows": 2}),
        help_text=_("Task ids, such as click-test, 7, 12. Leave empty for all tasks chosen above."),
    )
    feasible_only = forms.BooleanField(
        label=_("Leave out tasks marked infeasible"), required=False, initial=True
    )
    agents = forms.MultipleChoiceField(
        label=_("agent"), required=False, widget=forms.CheckboxSelectMultiple
    )
    more_agents = forms.CharField(
        label=_("Further configurations"),
        required=False,
        max_length=100_000,
        widget=forms.Textarea(attrs={"rows": 2, "class": "mono"}),
        help_text=_('One per line: kind, colon, JSON. generic:{"model": "own-model"}'),
    )
    trials = WholeNumberField(label=_("Trials"), min_value=1, max_value=MAX_TRIALS, initial=1)
    seeds = forms.CharField(
        label=_("seed"),
        required=False,
        max_length=2000,
        help_text=_(
            "0-2 or 4,8,15: one for each trial. 7+: counted from 7. Leave empty to draw them at "
            "random. All agents get the same."
        ),
    )
    max_steps = forms.CharField(
        label=_("step limit"),
        required=False,
        max_length=200,
        widget=forms.TextInput(attrs={"list": "step-limits"}),
        help_text=_(
            "Several, such as 10, 20, 30, are compared. Leave empty to use the limit of the task "
            "or agent."
        ),
    )
    budgets = forms.CharField(
        label=_("Tokens for web knowledge"),
        required=False,
        max_length=200,
        help_text=_(
            "For agents with web knowledge. Several, such as 6000, none, are compared; "
            "none gives all entries. Leave empty to use the configured budget."
        ),
    )
    policy = PolicyField(
        queryset=RetryPolicy.objects.none(),
        label=_("retry policy"),
        required=False,
        empty_label=_("default settings"),
    )
    parallelism = WholeNumberField(
        label=_("Maximum runs at a time"),
        required=False,
        min_value=1,
        max_value=1000,
        help_text=_("Leave empty for one per browser."),
    )
    in_background = forms.BooleanField(label=_("Run when nothing else waits"), required=False)
    waits_for_sites = forms.BooleanField(label=_("Wait if a site is not ready"), required=False)
    token = forms.UUIDField(widget=forms.HiddenInput)

    def __init__(self, *args: Any, user: User, **options: Any) -> None:
        options["initial"] = {"token": uuid.uuid4()} | (options.get("initial") or {})
        super().__init__(*args, **options)
        self._user = user
        offer(self, "task_set", [(name, name) for name in task_set_choices()])
        offer(self, "agents", experiment_agent_choices(user))
        # A manager with methods of its own, which the stubs take for a plain one.
        policy = self.fields["policy"]
        assert isinstance(policy, PolicyField)  # noqa: S101 (mypy)
        policy.queryset = RetryPolicy.objects.latest_versions()
        in_set = self._in_set()
        filters = {
            "sites": {task.site for task in in_set} - {""},
            "kinds": {kind_of(task) for task in in_set} - {""},
        }
        for name, values in filters.items():
            if len(values) > 1:
                offer(self, name, [(each, each) for each in sorted(values)])
            else:
                del self.fields[name]

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        self.plan = self._plan(cleaned)
        return cleaned

    def refuse(self, error: PlanError, field: str | None = None) -> None:
        """Say beside the field that it is about, or else this one, why it cannot be planned."""
        self.add_error(error.field if error.field in self.fields else field, str(error))

    def clean_name(self) -> str:
        name: str = self.cleaned_data["name"].strip()
        there = Experiment.objects.filter(name=name).first()
        # The same form, sent twice, made it.
        if there is not None and str(there.token) != self.data.get("token"):
            raise forms.ValidationError(_("This name is taken."))
        return name

    plan: Plan | None = None
    """What was asked for; None while the form does not say it."""

    def _plan(self, asked: dict[str, Any]) -> Plan | None:
        """What was asked for; None, with all that is wrong beside its fields, if it cannot be."""
        is_whole = not self.errors.keys() - set(NEEDED_AT_LAUNCH)
        tasks = self._read(lambda: tasks_of(_selection(asked), self._user), "tasks", "task_set")
        agents = self._agents(asked)
        seeds = self._read(lambda: read_seeds(asked["seeds"], asked.get("trials")), "seeds")
        limits = self._read(lambda: read_step_limits(asked["max_steps"]), "max_steps")
        budgets = self._read(lambda: read_budgets(asked["budgets"]), "budgets")
        for gap in gaps(tasks, agents):
            self.refuse(gap)
        if tasks is None or agents is None or seeds is None or limits is None or budgets is None:
            return None
        arms = self._read(lambda: with_arms(agents, step_limits=limits, budgets=budgets), "budgets")
        if arms is None or not is_whole:
            return None
        return Plan(
            name=asked.get("name", ""),
            tasks=tasks,
            agents=arms,
            seeds=seeds,
            max_steps=limits[0] if len(limits) == 1 else None,
            has_limits=len(limits) > 1,
            **{name: asked[name] for name in AS_ASKED},
        )

    def _agents(self, asked: dict[str, Any]) -> tuple[AgentRecord, ...] | None:
        chosen, more = asked.get("agents", []), asked.get("more_agents", "")
        return self._read(
            lambda: chosen_agents(chosen, more, asked["task_set"], self._user),
            "more_agents" if more.strip() else "agents",
            "task_set",
        )

    def _read(self, read: Callable[[], Read], *fields: str) -> Read | None:
        """What the fields ask for; None, with the reason beside the first, if they ask in vain."""
        if self.errors.keys() & set(fields):
            return None
        try:
            return read()
        except PlanError as error:
            self.refuse(error, fields[0])
            return None

    def _in_set(self) -> tuple[Task, ...]:
        """All tasks of the chosen set, for the filters to offer."""
        given = self.data.get("task_set") if self.is_bound else self.initial.get("task_set")
        choices = task_set_choices()
        return tasks_of(
            Selection(task_set=given if given in choices else choices[0], feasible_only=False),
            self._user,
        )

    def estimated(self) -> dict[str, Any]:
        """What its page shows of the plan that the form holds; nothing without one."""
        if self.plan is None:
            return {}
        return {
            "problems": [*filter(None, [plan_problem(self.plan)])],
            "estimate": estimate(self.plan, self._user),
            "late": late_responses(self.plan),
            "plan": self.plan,
        }

    def launch(self) -> tuple[Experiment, int]:
        """Queue the plan of the valid form; the experiment, and how many runs it is to have.

        Raises PlanError as `launch_experiment` does.
        """
        assert self.plan is not None  # noqa: S101 (mypy; a valid form has one)
        token = self.cleaned_data["token"]
        launched = launch_experiment(plan=self.plan, token=token, user=self._user)
        return launched.experiment, self.plan.n_runs


def _selection(asked: dict[str, Any]) -> Selection:
    return Selection(
        task_set=asked["task_set"],
        sites=asked.get("sites", ()),
        kinds=asked.get("kinds", ()),
        picked=read_names(asked["tasks"]),
        feasible_only=asked["feasible_only"],
    )


def problems_of(form: forms.Form) -> list[str]:
    """What is wrong with a form of a launch so far, and where.

    What it needs only in the end is left out. Our own words say themselves what they are about,
    Django's do not.
    """
    found = form.errors.as_data().items()
    return [_told(form, name, each[0]) for name, each in found if name not in NEEDED_AT_LAUNCH]


def _told(form: forms.Form, name: str, error: forms.ValidationError) -> str:
    words = " ".join(error.messages)
    is_ours = error.code is None or name not in form.fields
    return words if is_ours else f"{capfirst(str(form.fields[name].label))}: {words}"
