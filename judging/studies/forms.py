"""Making a study, its members and its guidelines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain, repeat
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast

from django import forms
from django.core.exceptions import ValidationError
from django.db.models import Model
from django.forms.boundfield import BoundField, BoundWidget
from django.utils.translation import gettext_lazy as _

from judging.models import Study, StudyMember
from judging.studies.protocols import MAX_CHARS, default_lines, parse_lines
from judging.studies.services import MAX_RUNS, Protocol, new_seed
from runs.models import User
from runs.models.parsing import read_number

if TYPE_CHECKING:
    Chosen = forms.ModelMultipleChoiceField[User]
else:
    Chosen = forms.ModelMultipleChoiceField

MAX_SEED = 2**53
BACKEND = "django.contrib.auth.backends.ModelBackend"


class PeopleField(Chosen):
    """People by their numbers; one that no row can have is refused as unknown."""

    def clean(self, value: Any) -> Any:
        for number in value or ():
            if read_number(str(number)) is None:
                words = self.error_messages["invalid_pk_value"]
                raise ValidationError(words, "invalid_pk_value", {"pk": number})
        return super().clean(value)


class StudyForm(forms.Form):
    """A study's name, runs, protocol, first guidelines and members."""

    name = forms.CharField(label=_("name"), max_length=200)
    description = forms.CharField(
        label=_("Purpose"),
        required=False,
        max_length=2000,
        widget=forms.Textarea(attrs={"rows": 2}),
    )
    sample_size = forms.IntegerField(
        label=_("Number of runs"),
        required=False,
        min_value=1,
        max_value=MAX_RUNS,
        help_text=_("At random from the runs above. Leave empty to take all."),
    )
    seed = forms.IntegerField(label=_("seed"), min_value=0, max_value=MAX_SEED)
    labels_per_run = forms.IntegerField(
        label=_("labels per run"), min_value=2, max_value=5, initial=2
    )
    hides_identity = forms.BooleanField(
        label=_("Hide agent and model until a run is settled"), required=False, initial=True
    )
    asks_milestones = forms.BooleanField(
        label=_("Ask which milestones were reached"), required=False
    )
    asks_failure_details = forms.BooleanField(
        label=_("Ask for step, cause and reason of every failure"), required=False
    )
    repeat_percent = forms.IntegerField(
        label=_("Hidden repeats, in percent"),
        min_value=0,
        max_value=50,
        initial=0,
        help_text=_("Runs shown to the same person again, unmarked, to measure consistency."),
    )
    causes = forms.CharField(
        label=_("Causes of failure, one a line"),
        required=False,
        max_length=2000,
        widget=forms.Textarea(attrs={"rows": 7}),
    )
    guidelines = forms.CharField(
        label=_("guidelines"),
        max_length=MAX_CHARS,
        widget=forms.Textarea(attrs={"rows": 12}),
        help_text=_("Markdown. When does a run count as a success? What about doubtful cases?"),
    )
    annotators = PeopleField(
        widget=forms.CheckboxSelectMultiple,
        queryset=User.objects.filter(is_active=True).order_by("username"),
        label=_("annotators"),
        required=False,
        help_text=_("At least as many as labels per run. You can add people later."),
    )
    adjudicators = PeopleField(
        widget=forms.CheckboxSelectMultiple,
        queryset=User.objects.none(),
        label=_("adjudicator"),
        required=False,
    )
    query = forms.CharField(required=False, max_length=4000, widget=forms.HiddenInput)
    NAMED, SAMPLE = ("name", "description"), ("sample_size", "seed")
    PEOPLE = ("annotators", "adjudicators")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["seed"].initial = new_seed
        self.fields["causes"].initial = default_lines
        may_adjudicate = User.objects.with_perm("judging.adjudicate", backend=BACKEND)
        people = cast("PeopleField", self.fields["adjudicators"])
        people.queryset = may_adjudicate.order_by("username")

    @property
    def steps(self) -> dict[str, list[forms.BoundField]]:
        """The fields in the order in which a study is thought of."""
        placed = (*self.NAMED, *self.SAMPLE, *self.PEOPLE)
        return {
            "named": [self[name] for name in self.NAMED],
            "sample": [self[name] for name in self.SAMPLE],
            "protocol": [each for each in self.visible_fields() if each.name not in placed],
            "people": [self[name] for name in self.PEOPLE],
        }

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        both = set(cleaned.get("annotators", ())) & set(cleaned.get("adjudicators", ()))
        for person in both:
            words = _("%(person)s cannot be both annotator and adjudicator.")
            self.add_error("adjudicators", words % {"person": person})
        return cleaned

    @property
    def members(self) -> dict[User, StudyMember.Part]:
        """Who takes which role."""
        return {
            person: part
            for name, part in zip(self.PEOPLE, StudyMember.Part, strict=True)
            for person in self.cleaned_data[name]
        }

    def clean_name(self) -> str:
        name: str = self.cleaned_data["name"].strip()
        if Study.objects.filter(name=name).exists():
            raise forms.ValidationError(_("This name is taken."))
        return name

    def protocol(self) -> Protocol:
        """The rules that the valid form states."""
        data = self.cleaned_data
        return Protocol(
            labels_per_run=data["labels_per_run"],
            hides_identity=data["hides_identity"],
            asks_milestones=data["asks_milestones"],
            asks_failure_details=data["asks_failure_details"],
            repeat_share=data["repeat_percent"] / 100,
            taxonomy=parse_lines(data["causes"]),
        )


class MemberForm(forms.Form):
    """A person and their role in the study."""

    user = forms.ModelChoiceField(label=_("name"), queryset=User.objects.none())
    part = forms.ChoiceField(label=_("Role"), choices=StudyMember.Part.choices)

    def __init__(self, *args: Any, study: Study, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        people = self.fields["user"]
        assert isinstance(people, forms.ModelChoiceField)  # noqa: S101 - narrows the type
        present = study.members.filter(left_at=None).values("user")
        others = User.objects.filter(is_active=True).exclude(pk__in=present)
        people.queryset = others.order_by("username")


class GuidelineForm(forms.Form):
    """The next version of the guidelines."""

    text = forms.CharField(
        label=_("guidelines"), max_length=MAX_CHARS, widget=forms.Textarea(attrs={"rows": 24})
    )


def note_field(longest: int) -> forms.CharField:
    """A field of two lines for a note of at most so many characters; it may stay empty."""
    return forms.CharField(
        label=_("note"),
        required=False,
        max_length=longest,
        widget=forms.Textarea(attrs={"rows": 2}),
    )


class StatementForm(forms.Form):
    """What somebody says of a run: choices, of which some have keys, and a `note`."""

    KEYS: ClassVar[Mapping[str, str]] = {}
    """By field of choices, in the order of the form: a key for each; empty for none."""
    AUTO_ID: ClassVar[str] = "id_%s"
    """What its fields are called on a page, beside those of other forms with a note."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{"auto_id": self.AUTO_ID} | kwargs)

    @classmethod
    def about(cls, said: Model | None) -> Self:
        """The form as it was filled in for this; blank for None."""
        initial = {name: getattr(said, name) for name in (*cls.KEYS, "note")} if said else {}
        return cls(initial=initial)

    def choices(self) -> Iterator[tuple[BoundField, Iterator[tuple[BoundWidget, str]]]]:
        """Each of these fields, and what may be chosen with its key."""
        for name, keys in self.KEYS.items():
            yield self[name], zip(self[name], chain(keys, repeat("")), strict=False)
