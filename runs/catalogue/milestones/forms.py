"""The form of a task's milestones: one row each, with its check in fields."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from django import forms
from django.http import QueryDict
from django.template.defaultfilters import filesizeformat
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy
from pydantic import ValidationError

from runs.catalogue.milestones.definitions import MOST
from webagent.milestones.checks import MAX_CHARS
from webagent.milestones.findings import MAX_NAME, MAX_WEIGHT, Definition, Rule

PREFIX = "m"
SIDES = ("reached", "lost")
KINDS = [
    ("url", gettext_lazy("the address is")),
    ("text", gettext_lazy("the page contains")),
    ("element", gettext_lazy("an element is")),
    ("action", gettext_lazy("the agent does")),
    ("reported", gettext_lazy("the environment reports")),
]
STATES = [
    ("present", gettext_lazy("there")),
    ("checked", gettext_lazy("checked")),
    ("unchecked", gettext_lazy("not checked")),
    ("selected", pgettext_lazy("state of an element", "selected")),
    ("expanded", gettext_lazy("expanded")),
    ("disabled", gettext_lazy("disabled")),
    ("focused", gettext_lazy("focused")),
    ("value", gettext_lazy("filled with")),
]
PARTS: Mapping[str, tuple[tuple[str, str, Any], ...]] = {
    "url": (("pattern", "pattern", gettext_lazy("Address")),),
    "text": (("words", "text", gettext_lazy("text")),),
    "element": (
        ("role", "role", gettext_lazy("Role")),
        ("element", "name", gettext_lazy("name")),
        ("value", "value", gettext_lazy("value")),
    ),
    "action": (
        ("action", "action", gettext_lazy("action")),
        ("target", "target", gettext_lazy("target")),
        ("written", "text", gettext_lazy("text")),
    ),
    "reported": (("report", "name", gettext_lazy("name")),),
}
"""Fields by kind of check: the form's name, the check's name, and the label."""
EXAMPLES: Mapping[str, str] = {"pattern": "*/checkout/cart*", "role": "checkbox", "action": "fill"}
"""What is typed into a field whose words alone do not tell it."""


class MilestoneForm(forms.Form):
    """One milestone."""

    name = forms.CharField(
        label=gettext_lazy("milestone"),
        max_length=MAX_NAME,
        error_messages={"required": gettext_lazy("Required.")},
    )
    weight = forms.FloatField(
        label=gettext_lazy("weight"),
        initial=1,
        max_value=MAX_WEIGHT,
        widget=forms.NumberInput(attrs={"step": "any", "min": "0"}),
    )
    is_ordered = forms.BooleanField(label=gettext_lazy("in order"), required=False)

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        for side in SIDES:
            self._add_side(side)
        self.definition: Definition | None = None

    def has_changed(self) -> bool:
        """Whether something was filled in: a place alone is nothing."""
        return bool(set(self.changed_data) - {"ORDER"})

    def _add_side(self, side: str) -> None:
        none = _("people or a judge") if side == "reached" else _("not set")
        label = _("Reached when") if side == "reached" else _("Lost again when")
        self.fields[f"{side}_kind"] = forms.ChoiceField(
            label=label, choices=[("", none), *KINDS], required=False
        )
        self.fields[f"{side}_state"] = forms.ChoiceField(
            label=capfirst(_("state")), choices=STATES, required=False
        )
        for parts in PARTS.values():
            for name, _part, words in parts:
                self.fields[f"{side}_{name}"] = forms.CharField(
                    label=words,
                    required=False,
                    max_length=MAX_CHARS,
                    widget=forms.TextInput(attrs={"placeholder": EXAMPLES.get(name, "")}),
                )

    def sides(self) -> Iterator[dict[str, Any]]:
        """The fields of each check, for the template."""
        for side in SIDES:
            yield {
                "side": side,
                "kind": self[f"{side}_kind"],
                "state": self[f"{side}_state"],
                "parts": [
                    (kind, [self[f"{side}_{name}"] for name, _part, _words in parts])
                    for kind, parts in PARTS.items()
                ],
                "is_set": bool(self[f"{side}_kind"].value()),
            }

    def clean_weight(self) -> float:
        weight: float = self.cleaned_data["weight"]
        if not weight > 0:
            raise forms.ValidationError(_("Must be above %(limit)s.") % {"limit": 0})
        return weight

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        rule = self._rule(cleaned)
        if self.errors:
            return cleaned
        self.definition = Definition(
            name=cleaned["name"],
            weight=cleaned["weight"],
            is_ordered=cleaned["is_ordered"],
            rule=rule,
        )
        return cleaned

    def _rule(self, cleaned: dict[str, Any]) -> Rule | None:
        checks = {side: self._check(side, cleaned) for side in SIDES}
        if checks["reached"] is None:
            if checks["lost"] is not None:
                self.add_error("reached_kind", _("Required."))
            return None
        try:
            return Rule.model_validate(
                {"reached_when": checks["reached"], "lost_when": checks["lost"]}
            )
        except ValidationError as error:
            for problem in error.errors(include_url=False, include_context=False):
                self.add_error(*self._place(problem["loc"], problem["type"]))
            return None

    def _check(self, side: str, cleaned: dict[str, Any]) -> dict[str, str] | None:
        kind = cleaned.get(f"{side}_kind")
        if not kind:
            return None
        check = {part: cleaned.get(f"{side}_{name}", "") for name, part, _words in PARTS[kind]}
        if kind == "element":
            check["state"] = cleaned.get(f"{side}_state") or "present"
            if check["state"] != "value":
                check["value"] = ""
        return {"kind": kind, **check}

    def _place(self, place: tuple[int | str, ...], problem: str) -> tuple[str, str]:
        """The field of a check that a problem belongs to, and what to say there."""
        side = "reached" if place and place[0] == "reached_when" else "lost"
        kind = self.cleaned_data[f"{side}_kind"]
        parts = PARTS[kind]
        named = [name for name, part, _words in parts if place and part == place[-1]]
        name = named[0] if named else parts[0][0]
        if problem == "value_error" and kind in ("element", "action"):
            words = _("Fill in at least one field.")
        elif problem == "value_error":
            words = _("Write more than *.")
        else:
            words = _("Required.")
        return f"{side}_{name}", words


if TYPE_CHECKING:
    _FormSet = forms.BaseFormSet[MilestoneForm]
else:
    _FormSet = forms.BaseFormSet


class MilestoneFormSet(_FormSet):
    """The milestones of a task, in the order that their rows are given."""

    def clean(self) -> None:
        """No two have the same name."""
        seen: set[str] = set()
        for form in self.kept():
            name = form.cleaned_data.get("name")
            if name in seen:
                form.add_error("name", _("This name is taken."))
            elif name:
                seen.add(name)
        if any(form.errors for form in self.kept()):
            raise forms.ValidationError(_("Correct the marked fields."))

    def kept(self) -> list[MilestoneForm]:
        """The rows that were not removed, in their order; those never filled in do not count."""
        kept = [
            form
            for form in self.forms
            if hasattr(form, "cleaned_data")
            and not form.cleaned_data.get("DELETE")
            and (form.has_changed() or form.initial)
        ]
        last = len(self.forms) + 1
        return sorted(kept, key=lambda form: form.cleaned_data.get("ORDER") or last)

    def as_sent(self) -> list[MilestoneForm]:
        """All rows in the order in which the person left them."""
        last = len(self.forms) + 1

        def place(form: MilestoneForm) -> int:
            value = str(form["ORDER"].value() or "")
            return int(value) if value.isdecimal() and len(value) < 4 else last

        return sorted(self.forms, key=place)

    def definitions(self) -> list[Definition]:
        return [form.definition for form in self.kept() if form.definition is not None]


_milestone_forms = forms.formset_factory(
    MilestoneForm,
    formset=MilestoneFormSet,
    extra=0,
    can_delete=True,
    can_order=True,
    max_num=MOST,
    absolute_max=MOST,
    validate_max=True,
)


def milestone_forms(
    milestones: Sequence[Definition], data: QueryDict | None = None
) -> MilestoneFormSet:
    """The rows filled with milestones, or with what was sent."""
    made = _milestone_forms(data, initial=[*map(_initial, milestones)], prefix=PREFIX)
    return cast("MilestoneFormSet", made)


def one_more_row(data: QueryDict) -> QueryDict:
    """What was sent, with an empty row at its end."""
    more = data.copy()
    total = data.get(f"{PREFIX}-TOTAL_FORMS", "0")
    number = int(total) if total.isdecimal() and len(total) < 4 else 0
    if number < MOST:
        more[f"{PREFIX}-TOTAL_FORMS"] = str(number + 1)
        more[f"{PREFIX}-{number}-weight"] = "1"
    return more


def _initial(milestone: Definition) -> dict[str, Any]:
    values: dict[str, Any] = {
        "name": milestone.name,
        "weight": milestone.weight,
        "is_ordered": milestone.is_ordered,
    }
    rule = milestone.rule
    for side, check in (
        ("reached", rule.reached_when if rule else None),
        ("lost", rule.lost_when if rule else None),
    ):
        if check is None:
            continue
        said = check.model_dump()
        values[f"{side}_kind"] = check.kind
        values[f"{side}_state"] = said.get("state", "")
        for name, part, _words in PARTS[check.kind]:
            values[f"{side}_{name}"] = said[part]
    return values


class MilestoneFileForm(forms.Form):
    """A file of milestones."""

    file = forms.FileField(
        label=gettext_lazy("File"),
        widget=forms.FileInput(attrs={"accept": ".json,application/json"}),
    )

    MOST_BYTES = 10_000_000

    def clean_file(self) -> Any:
        file = self.cleaned_data["file"]
        if file.size > self.MOST_BYTES:
            most = filesizeformat(self.MOST_BYTES)
            raise forms.ValidationError(_("Too large: at most %(size)s.") % {"size": most})
        return file
