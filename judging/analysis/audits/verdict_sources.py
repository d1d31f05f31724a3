"""Who says something of a run: annotators, evaluators, and the steps inside an evaluator."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from django.db.models import (
    Case,
    CharField,
    Exists,
    Expression,
    F,
    FilteredRelation,
    OuterRef,
    Q,
    QuerySet,
    Value,
    When,
)
from django.db.models.fields.json import KeyTextTransform, KeyTransform
from django.db.models.lookups import Exact
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from judging.analysis.audits.population import FAILED, PASSED, counted_items
from judging.models import Evaluation, EvaluatorVersion, Label, Study, StudyItem
from judging.models.labels import Success
from runs.models import User
from webagent.llm.registry import PREFIX

MATCHER, EQUIVALENCE, INCLUSION = "matcher", "equivalence", "inclusion"
STEPS: Mapping[str, str | Promise] = {
    MATCHER: gettext_lazy("matcher"),
    EQUIVALENCE: gettext_lazy("stage 1"),
    INCLUSION: gettext_lazy("stage 2"),
}
"""Steps that an evaluator may take, in their order; each may be asked only where none passed."""
_Kind = EvaluatorVersion.Kind
_KINDS = (_Kind.MATCHER, _Kind.JUDGE, _Kind.REWARD, _Kind.PIPELINE, _Kind.MILESTONES)
_ASKS = (_Kind.JUDGE, _Kind.PIPELINE)


def of_success() -> QuerySet[EvaluatorVersion]:
    """Those that say whether runs succeed; the others say how runs fail."""
    return EvaluatorVersion.objects.exclude(kind=_Kind.MODES)


Version = TypeVar("Version", bound=EvaluatorVersion)


def in_order(versions: Iterable[Version]) -> list[Version]:
    """From the simple to what is made of it, before the repair and then after it; others last."""
    return sorted(
        versions,
        key=lambda version: (
            _KINDS.index(version.kind) if version.kind in _KINDS else len(_KINDS),
            "repaired" in version.name,
            version.name == "after",
            version.name,
            version.version,
        ),
    )


def short_names(versions: Iterable[EvaluatorVersion]) -> dict[int, str]:
    """The evaluators' short names; with the version where several here share one."""
    listed = list(versions)
    counts = Counter(version.title for version in listed)
    return {each.pk: each.title if counts[each.title] == 1 else each.shown for each in listed}


def stubs_of(study: Study) -> list[EvaluatorVersion]:
    """The evaluators with a say in the study that a stub answers; two queries where any is."""
    stubs = EvaluatorVersion.objects.filter(config__model__istartswith=PREFIX)
    keys = list(stubs.values_list("pk", flat=True))
    if not keys:
        return []
    return list(EvaluatorVersion.objects.filter(Exists(_said_of(study.items.all())), pk__in=keys))


def _said_of(items: QuerySet[StudyItem]) -> QuerySet[Evaluation]:
    """What the evaluator of an outer query says of the items' runs."""
    runs = items.order_by().values("run")
    return Evaluation.objects.filter(evaluator=OuterRef("pk"), is_current=True, run__in=runs)


def spoken_of(study: Study) -> QuerySet[EvaluatorVersion]:
    """The evaluators that say something of the study's counted runs."""
    return EvaluatorVersion.objects.filter(Exists(_said_of(counted_items(study))))


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictSource:
    """An annotator, an evaluator, or one step of an evaluator."""

    annotator: User | None = None
    evaluator: EvaluatorVersion | None = None
    step: str = ""
    short: str = field(default="", compare=False)
    """The evaluator's name on pages, by `short_names` of all that speak of the study."""
    has_verdicts: bool = True
    """Whether it passed or failed any of the counted runs."""

    @property
    def key(self) -> str:
        """Its name in an address: `u5`, `12`, or `12.equivalence`."""
        if self.evaluator is None:
            return f"u{self.annotator.pk}" if self.annotator else ""
        return f"{self.evaluator.pk}.{self.step}" if self.step else str(self.evaluator.pk)

    @property
    def name(self) -> str:
        """Its name in files."""
        return self._named(str(self.evaluator))

    @property
    def shown(self) -> str:
        """Its name on pages."""
        return self._named(self.short)

    @property
    def whole(self) -> str:
        """The same with the evaluator's version."""
        return self._named(self.evaluator.shown if self.evaluator else "")

    def _named(self, evaluator: str) -> str:
        if self.evaluator is None:
            return str(self.annotator)
        if not self.step:
            return evaluator
        return _("%(evaluator)s, %(step)s") % {"evaluator": evaluator, "step": STEPS[self.step]}

    @property
    def step_name(self) -> str:
        """The step alone; empty for a whole evaluator."""
        return str(STEPS[self.step]) if self.step else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictSources:
    """Everybody who says something of a study's counted runs."""

    study: Study
    annotators: Sequence[VerdictSource]
    evaluators: Sequence[VerdictSource]
    steps: Mapping[int, Sequence[VerdictSource]]
    """By evaluator, for those that take several steps."""

    @property
    def speaking(self) -> Sequence[VerdictSource]:
        """The evaluators with a verdict on any run; all of them where none has."""
        return [each for each in self.evaluators if each.has_verdicts] or self.evaluators

    @property
    def folded(self) -> Sequence[VerdictSource]:
        """The others, which pages name and leave out."""
        return [each for each in self.evaluators if each not in self.speaking]

    def named(self, key: str) -> VerdictSource:
        """The source of a key. Raises ValueError where none here has it."""
        for source in self.all:
            if source.key == key:
                return source
        raise ValueError(f"nobody here is {key}")

    @property
    def all(self) -> list[VerdictSource]:
        """Annotators, then every evaluator followed by its steps."""
        return [*self.annotators, *self.columns(self.evaluators)]

    def columns(
        self, evaluators: Sequence[VerdictSource], *, stages_only: bool = False
    ) -> list[VerdictSource]:
        """These evaluators, the steps of each before it."""
        found: list[VerdictSource] = []
        for source in evaluators:
            steps = self.steps.get(source.evaluator.pk, ()) if source.evaluator else ()
            found += [step for step in steps if not (stages_only and step.step == MATCHER)]
            found.append(source)
        return found


def sources_of(study: Study) -> VerdictSources:
    """The sources of a study, in at most three queries."""
    said = _said_of(counted_items(study))
    spoken = said.filter(verdict__in=[PASSED, FAILED])
    versions = in_order(of_success().filter(Exists(said)).annotate(speaks=Exists(spoken)))
    names = short_names(versions)
    evaluators = [
        VerdictSource(evaluator=each, short=names[each.pk], has_verdicts=each.speaks)
        for each in versions
    ]
    labels = Label.objects.filter(
        annotator=OuterRef("pk"), is_repeat=False, item__in=counted_items(study).values("pk")
    )
    annotators = User.objects.filter(Exists(labels)).order_by("username")
    return VerdictSources(
        study=study,
        annotators=[VerdictSource(annotator=user) for user in annotators],
        evaluators=evaluators,
        steps=_steps(study, evaluators, names),
    )


def _steps(
    study: Study, evaluators: Sequence[VerdictSource], names: Mapping[int, str]
) -> dict[int, list[VerdictSource]]:
    """Steps by evaluator. Looked for in what is stored, for imported evaluators have them too."""
    asking = [
        source.evaluator
        for source in evaluators
        if source.evaluator and _may_step(source.evaluator)
    ]
    if not asking:
        return {}
    said = _said_of(counted_items(study))
    included = Q(details__stages__0__name=INCLUSION) | Q(details__stages__1__name=INCLUSION)
    versions = EvaluatorVersion.objects.filter(pk__in=[each.pk for each in asking]).annotate(
        matcher=Exists(said.filter(details__parts__0__verdict__isnull=False)),
        equivalence=Exists(said.filter(details__stages__0__name=EQUIVALENCE)),
        inclusion=Exists(said.filter(included)),
    )
    found = {}
    for version in versions:
        steps = [name for name in STEPS if getattr(version, name)]
        if len(steps) > 1:
            found[version.pk] = [
                VerdictSource(evaluator=version, short=names[version.pk], step=step)
                for step in steps
            ]
    return found


def _may_step(version: EvaluatorVersion) -> bool:
    """Whether it is worth looking for steps: its configuration names them, or says nothing."""
    if version.kind not in _ASKS:
        return False
    config = json.dumps(version.config)
    is_pipeline = version.kind == _Kind.PIPELINE
    return not version.config or is_pipeline or EQUIVALENCE in config or INCLUSION in config


def with_verdicts(
    items: QuerySet[StudyItem], sources: Sequence[VerdictSource]
) -> QuerySet[StudyItem]:
    """The items with what each source said, as `said_0`, `said_1` …: passed, failed, or NULL.

    A label of success counts as passed, one of failure as failed, all others as no verdict.
    """
    relations = {}
    for number, source in enumerate(sources):
        if source.annotator is not None:
            relations[f"source_{number}"] = FilteredRelation(
                "labels", condition=Q(labels__annotator=source.annotator, labels__is_repeat=False)
            )
        else:
            relations[f"source_{number}"] = FilteredRelation(
                "run__evaluations",
                condition=Q(
                    run__evaluations__evaluator=source.evaluator, run__evaluations__is_current=True
                ),
            )
    said = {
        f"said_{number}": _said(source, f"source_{number}") for number, source in enumerate(sources)
    }
    return items.annotate(**relations).annotate(**said)


def step_verdict(step: str, details: str) -> Expression:
    """What a step said, from the details of an evaluation at that path; NULL if not asked."""
    if step == MATCHER:
        part = KeyTransform("0", KeyTransform("parts", details))
        return KeyTextTransform("verdict", part)
    return Case(
        *(
            When(
                Q(**{f"{details}__stages__{place}__name": step}),
                then=KeyTextTransform(
                    "verdict", KeyTransform(place, KeyTransform("stages", details))
                ),
            )
            for place in ("0", "1")
        ),
        default=Value(None),
        output_field=CharField(null=True),
    )


def _said(source: VerdictSource, relation: str) -> Expression:
    verdict: Expression | F
    if source.annotator is not None:
        verdict = F(f"{relation}__success")
        words = {Success.SUCCESS.value: PASSED, Success.FAILURE.value: FAILED}
    else:
        path = f"{relation}__verdict"
        verdict = step_verdict(source.step, f"{relation}__details") if source.step else F(path)
        words = {PASSED: PASSED, FAILED: FAILED}
    return Case(
        *(
            When(Exact(verdict, Value(word, output_field=CharField())), then=Value(meaning))
            for word, meaning in words.items()
        ),
        default=Value(None),
        output_field=CharField(null=True),
    )
