"""The form of a retry policy, in plain words."""

from decimal import Decimal
from typing import Any

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from pydantic import ValidationError

from runs.launching.agents import SAME_AGENT, OfferedAgents
from runs.launching.form_fields import AmountField, WholeNumberField, offer
from runs.launching.policies.rule_forms import RuleFormSet, rule_values
from runs.models import Run
from webagent.recovery.retry_policy import (
    WORTH_RETRYING,
    BatchLimits,
    Infrastructure,
    PolicyBody,
    RecoveryPolicy,
    RunLimits,
)
from webagent.trajectory.records import Json

_WATCH = RecoveryPolicy()
_RETRY = Infrastructure()


class Retries:
    """Whether the policy says how broken runs are tried again."""

    AS_SET, OWN, NEVER = "as_set", "own", "never"


class Watch:
    """Whether the policy watches for stuck agents."""

    NO, YES = "no", "yes"


def _number(label: Any, initial: int | None = None, **options: Any) -> WholeNumberField:
    options = {"min_value": 0, "required": initial is not None, **options}
    return WholeNumberField(label=label, initial=initial, **options)


def _seconds(label: Any, initial: float, **options: Any) -> AmountField:
    """Seconds of waiting, at most a day."""
    return AmountField(
        label=label,
        initial=initial,
        min_value=Decimal("0.1"),
        max_value=Decimal(86_400),
        decimal_places=3,
        **options,
    )


def _dollars() -> AmountField:
    return AmountField(
        label=gettext_lazy("US dollars"),
        required=False,
        min_value=Decimal("0.000001"),
        max_value=Decimal(1_000_000),
        decimal_places=6,
    )


_ANSWERS = [
    ("recover", gettext_lazy("go back and try again")),
    ("stop", gettext_lazy("stop the run")),
    ("ignore", gettext_lazy("ignore")),
]


class PolicyForm(forms.Form):
    """All of a policy but its rules of reruns. Its field names are those of the document."""

    name = forms.CharField(
        label=gettext_lazy("name"),
        max_length=100,
        error_messages={"required": gettext_lazy("Required.")},
    )
    description = forms.CharField(
        label=gettext_lazy("Purpose"),
        required=False,
        max_length=2000,
        widget=forms.Textarea(attrs={"rows": 2}),
    )

    retries = forms.ChoiceField(
        label=gettext_lazy("infrastructure error"),
        widget=forms.RadioSelect,
        choices=[
            (Retries.AS_SET, gettext_lazy("default settings")),
            (Retries.OWN, gettext_lazy("retry as follows")),
            (Retries.NEVER, gettext_lazy("never retry")),
        ],
        initial=Retries.AS_SET,
    )
    faults = forms.MultipleChoiceField(
        label=gettext_lazy("After these errors"),
        choices=Run.Fault.choices,
        widget=forms.CheckboxSelectMultiple,
        required=False,
        initial=list(WORTH_RETRYING),
    )
    attempts = _number(gettext_lazy("Total attempts"), _RETRY.attempts, min_value=2, max_value=10)
    backoff_s = _seconds(
        gettext_lazy("Seconds before the second attempt"),
        _RETRY.backoff_s,
        help_text=gettext_lazy("Doubled each time."),
    )
    backoff_cap_s = _seconds(gettext_lazy("Maximum seconds"), _RETRY.backoff_cap_s)

    watch = forms.ChoiceField(
        label=gettext_lazy("Stuck agents"),
        widget=forms.RadioSelect,
        choices=[
            (Watch.NO, gettext_lazy("ignore")),
            (Watch.YES, gettext_lazy("detect, and respond as follows")),
        ],
        initial=Watch.NO,
    )
    on_loop = forms.ChoiceField(label=gettext_lazy("On a loop"), choices=_ANSWERS)
    loop_shortest = _number(
        gettext_lazy("Shortest loop, in steps"), _WATCH.loop_shortest, min_value=2, max_value=1000
    )
    loop_longest = _number(
        gettext_lazy("Longest loop, in steps"),
        _WATCH.loop_longest,
        min_value=2,
        max_value=1000,
        help_text=gettext_lazy("A block must repeat within it: a period of 13 needs 26."),
    )
    compare = forms.ChoiceField(
        label=gettext_lazy("Steps of a loop are compared by"),
        choices=[
            ("actions", gettext_lazy("actions alone")),
            ("actions_and_page", gettext_lazy("actions and pages")),
        ],
        help_text=gettext_lazy("By actions alone, paging through results can count as a loop."),
    )
    on_false_completion = forms.ChoiceField(
        label=gettext_lazy("On repeated completion"), choices=_ANSWERS
    )
    false_completions = _number(
        gettext_lazy("Messages or waits in a row"),
        _WATCH.false_completions,
        min_value=2,
        max_value=1000,
    )
    waiting = forms.ChoiceField(
        label=gettext_lazy("Steps that only wait"),
        choices=[("counts", gettext_lazy("counted")), ("exempt", gettext_lazy("not counted"))],
    )
    steps_before = _number(gettext_lazy("Steps to go back"), _WATCH.steps_before, max_value=1000)
    other_agent = forms.ChoiceField(label=gettext_lazy("Agent that takes over"), required=False)
    other_steps = _number(gettext_lazy("Steps it takes"), _WATCH.other_steps, max_value=1000)
    recoveries = _number(
        gettext_lazy("Maximum recoveries per run"), _WATCH.recoveries, max_value=100
    )
    otherwise = forms.ChoiceField(
        label=gettext_lazy("When stuck again"),
        choices=[("stop", gettext_lazy("end the run")), ("go_on", gettext_lazy("continue"))],
    )
    writes = forms.ChoiceField(
        label=gettext_lazy("Steps that look like writes (send, buy, delete …)"),
        choices=[
            ("refuse", gettext_lazy("never repeat")),
            ("continue", gettext_lazy("repeat too")),
        ],
        help_text=gettext_lazy("Repeat only where a fresh start restores the site."),
    )
    settle_tries = _number(
        gettext_lazy("Checks of a page that differs"), _WATCH.settle_tries, max_value=100
    )
    settle_ms = _number(
        gettext_lazy("Milliseconds between checks"), _WATCH.settle_ms, min_value=1, max_value=60_000
    )

    run_steps = _number(gettext_lazy("steps"), min_value=1, max_value=10_000)
    run_tokens = _number(gettext_lazy("tokens"), min_value=1, max_value=10**12)
    run_dollars = _dollars()
    run_seconds = _number(gettext_lazy("seconds"), min_value=1, max_value=10**8)
    batch_runs = _number(gettext_lazy("runs"), min_value=1, max_value=10**9)
    batch_tokens = _number(gettext_lazy("tokens"), min_value=1, max_value=10**12)
    batch_dollars = _dollars()
    batch_seconds = _number(gettext_lazy("seconds"), min_value=1, max_value=10**8)

    RETRY_FIELDS = ("attempts", "backoff_s", "backoff_cap_s")
    LOOK_FIELDS = ("on_loop", "loop_shortest", "loop_longest", "on_false_completion")
    WATCH_FIELDS = tuple(RecoveryPolicy.model_fields)

    def __init__(
        self, *args: Any, agents: OfferedAgents, rules: RuleFormSet, is_new: bool, **options: Any
    ) -> None:
        super().__init__(*args, **options)
        self.agents, self.rules = agents, rules
        offer(self, "other_agent", [("", SAME_AGENT), *agents.choices])
        if not is_new:
            self.fields["name"].disabled = True
        self.body: PolicyBody | None = None

    def is_valid(self) -> bool:
        rules_fit = self.rules.is_valid()
        return super().is_valid() and rules_fit and self.body is not None

    def forgive(self) -> None:
        """Show what was sent without its errors: it is not finished yet."""
        for form in (self, *self.rules.forms):
            form.full_clean()
            form.errors.clear()

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        self._forgive_unasked(cleaned)
        if self.errors or not self.rules.is_valid():
            return cleaned
        if cleaned["retries"] == Retries.OWN and cleaned["backoff_cap_s"] < cleaned["backoff_s"]:
            least = {"limit": cleaned["backoff_s"]}
            self.add_error("backoff_cap_s", _("Must be at least %(limit)s.") % least)
        if cleaned["watch"] == Watch.YES and cleaned["loop_shortest"] > cleaned["loop_longest"]:
            least = {"limit": cleaned["loop_shortest"]}
            self.add_error("loop_longest", _("Must be at least %(limit)s.") % least)
        if self.errors:
            return cleaned
        try:
            self.body = PolicyBody.model_validate(self._document(cleaned))
        except ValidationError as error:
            for problem in error.errors(include_url=False, include_context=False):
                self.add_error(self._field_at(problem["loc"]), problem["msg"])
        return cleaned

    def _forgive_unasked(self, cleaned: dict[str, Any]) -> None:
        """Ignore errors of hidden fields."""
        unasked: list[str] = []
        if cleaned.get("retries") != Retries.OWN:
            unasked += ["faults", *self.RETRY_FIELDS]
        if cleaned.get("watch") != Watch.YES:
            unasked += ["other_agent", *self.WATCH_FIELDS]
        for name in unasked:
            self.errors.pop(name, None)

    def _document(self, cleaned: dict[str, Any]) -> Json:
        document: Json = {
            # Money stays a decimal: as a float it would change on the way.
            "run": {name: cleaned[f"run_{name}"] for name in RunLimits.model_fields},
            "batch": {name: cleaned[f"batch_{name}"] for name in BatchLimits.model_fields},
            "reruns": [rule_values(rule, self.agents) for rule in self.rules.kept()],
        }
        if cleaned["retries"] == Retries.OWN:
            part = {name: cleaned[name] for name in self.RETRY_FIELDS}
            document["infrastructure"] = {**part, "faults": cleaned["faults"]}
        elif cleaned["retries"] == Retries.NEVER:
            document["infrastructure"] = {"faults": [], "attempts": 1}
        if cleaned["watch"] == Watch.YES:
            document["recovery"] = {name: cleaned[name] for name in self.WATCH_FIELDS}
            other = self.agents.get(cleaned["other_agent"])
            recovery = RecoveryPolicy.model_validate(document["recovery"])
            # The other agent matters only where it can take over.
            if other is not None and recovery.takes_over:
                document["other_agent"] = other.model_dump(mode="json")
        return document

    def _field_at(self, place: tuple[int | str, ...]) -> str | None:
        """The field of a part of the document; None where it is no single one."""
        part, name = str(place[0]) if place else "", str(place[-1]) if place else ""
        name = f"{part}_{name}" if part in ("run", "batch") else name
        return name if name in self.fields else None


def initial_of(body: PolicyBody, agents: OfferedAgents) -> dict[str, Any]:
    """The form's values for a policy; `PolicyForm` makes the same policy of them."""
    # Absent parts start with the defaults, in case they are switched on.
    values: dict[str, Any] = {"retries": Retries.AS_SET, "watch": Watch.NO}
    values |= Infrastructure().model_dump(mode="json") | RecoveryPolicy().model_dump(mode="json")
    if (part := body.infrastructure) is not None:
        is_never = part.attempts == 1 or not part.faults
        values["retries"] = Retries.NEVER if is_never else Retries.OWN
        if not is_never:
            values |= part.model_dump(mode="json")
    if body.recovery is not None:
        values |= {"watch": Watch.YES, **body.recovery.model_dump(mode="json")}
    values["other_agent"] = agents.value_of(body.other_agent)
    for prefix, limits in (("run", body.run), ("batch", body.batch)):
        values |= {f"{prefix}_{name}": value for name, value in limits}
    return values
