"""What a replication's figures are read from: reports on its experiments and studies."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

from django.db.models import Exists, OuterRef, QuerySet
from django.urls import reverse
from django.utils.translation import gettext as _

from judging.analysis.audits.comparing.studies import TwoStudies, two_studies
from judging.analysis.audits.comparing.study_reports import TWO_STUDIES
from judging.analysis.audits.facts import AuditFacts
from judging.analysis.audits.query import AuditQuery, NoVerdict, Pairing, Unsure
from judging.analysis.audits.reports import AUDIT, check_split
from judging.analysis.experiments.access import source_named
from judging.analysis.experiments.comparison import Comparison, comparison_report
from judging.analysis.experiments.facts import Facts, ReportQuery
from judging.analysis.experiments.pairs import Side
from judging.analysis.experiments.population import Scope, Source, scope_for, whole_scope
from judging.analysis.experiments.reports import EXPERIMENT, registry_of
from judging.analysis.reports.registry import Registry
from judging.analysis.reports.report import Report
from judging.models import (
    Evaluation,
    EvaluatorVersion,
    Replication,
    ReplicationPart,
    Study,
    StudyItem,
)
from judging.replication.study_file import Place, StudyFile, read_study_file
from judging.replication.study_parts import Arm, StudyFileError, not_found
from judging.studies.access import studies_hidden_from
from runs.models import AgentConfiguration, Experiment, User

COMPARISON = "comparison"
"""The report on two arms, of one experiment or of two."""
Kind = ReplicationPart.Kind
T = TypeVar("T")


class NoFigureError(Exception):
    """There is no such figure now; the words say why."""


class ArmRuns(NamedTuple):
    """Where the runs of an arm are: an experiment, and the configuration that they have there."""

    experiment: Experiment
    agent: AgentConfiguration


class Sources:
    """Reports on the rows of a replication as a reader may know them; None reads everything.

    Each report, and what it is made from, is made once.
    """

    def __init__(self, replication: Replication, user: User | None = None) -> None:
        self.replication, self.user = replication, user
        self._known: dict[tuple[object, ...], Any] = {}

    @cached_property
    def file(self) -> StudyFile:
        content = self.replication.content.encode()
        return read_study_file(content, self.replication.file_name)

    def check_file(self) -> None:
        """Raises StudyFileError where the stored file cannot be read, such as a later format's."""
        _ = self.file

    @cached_property
    def parts(self) -> list[ReplicationPart]:
        rows = self.replication.parts.select_related("experiment", "study", "job")
        # An order that is the same wherever the bundle is read.
        return list(rows.order_by("kind", "key"))

    @cached_property
    def experiments(self) -> list[Experiment]:
        """Those of the arms that the reader may know of, each once."""
        own = {part.experiment_id for part in self.parts if part.experiment_id}
        rows = Experiment.objects.filter(pk__in=own)
        if self.user is not None:
            rows = rows.visible_to(self.user)
        return list(rows.order_by("name"))

    @cached_property
    def hidden_studies(self) -> set[int]:
        """Studies of which the reader may know no figure: they judge in them themselves."""
        if self.user is None:
            return set()
        own = [study.pk for study in self.studies.values()]
        hidden = studies_hidden_from(self.user).filter(pk__in=own)
        return set(hidden.values_list("pk", flat=True)) if own else set()

    @cached_property
    def arms(self) -> Mapping[str, ArmRuns | str]:
        """By arm where its runs are, or why there are none."""
        return {key: self._arm(key, arm) for key, arm in self.file.arms.items()}

    def arm(self, key: str) -> ArmRuns:
        """Raises NoFigureError where the arm has no runs that the reader may know."""
        found = self.arms[key]
        if isinstance(found, str):
            raise NoFigureError(found)
        return found

    def study(self, key: str) -> Study:
        """The study of a judging. Raises NoFigureError where there is none to be read."""
        study = self.studies.get(key)
        if study is None:
            raise NoFigureError(_("nothing is judged yet"))
        if study.pk in self.hidden_studies:
            raise NoFigureError(_("you judge runs of this study yourself"))
        return study

    @cached_property
    def studies(self) -> Mapping[str, Study]:
        """By judging its study, where there is one."""
        return {part.key: part.study for part in self.parts if part.study}

    def evaluators(self, key: str) -> list[EvaluatorVersion]:
        """Those that judged the runs of a judging and that the file names: it has them run, or has
        figures of them. What the site evaluates of its own accord is no part of the replication.
        """
        runs = StudyItem.objects.filter(study=self.studies[key]).order_by().values("run")
        said = Evaluation.objects.filter(run__in=runs, is_current=True).order_by()
        rows = EvaluatorVersion.objects.filter(pk__in=said.values("evaluator"))
        named = {each.name for each in self.file.judging[key].evaluators}
        selects = [place.select for _, place in self.file.places() if place.judging == key]
        named |= {str(each["evaluator"]) for each in selects if "evaluator" in each}
        return [row for row in rows.order_by("name", "config_hash") if row.name in named]

    def report_at(self, place: Place) -> Report:
        """The report that a figure stands in.

        Raises:
            NoFigureError: there is none that the reader may read now.
        """
        if place.report == COMPARISON and not place.judging:
            return self._comparison(place)
        registry, key = registered(place)
        if place.judging:
            return self._beside(place) if place.versus else self._audit_report(place)
        facts = self.facts(self.arm(place.arm).experiment, place.verdict)
        known = (place.report, facts.experiment.pk, place.verdict)
        return self._made(known, lambda: registry.make(key, facts))

    def facts(self, experiment: Experiment, verdict: str) -> Facts:
        """The experiment as the reader may know it. Raises NoFigureError for no such verdicts."""

        def make() -> Facts:
            return Facts(self.scope(experiment), ReportQuery(source=_source(verdict)))

        return self._made((Facts, experiment.pk, verdict), make)

    def scope(self, experiment: Experiment) -> Scope:
        """Its runs as the reader may know them."""
        return whole_scope(experiment) if self.user is None else scope_for(self.user, experiment)

    def audit(self, study: Study, place: Place) -> AuditFacts:
        """The study's audit, counted as the file says."""
        query = AuditQuery(
            unsure=Unsure(place.unsure or Unsure.IN),
            pairing=Pairing(place.pairing or Pairing.PEOPLE),
            no_verdict=NoVerdict(place.no_verdict or NoVerdict.LEFT_OUT),
            split=place.split,
        )
        return self._made((AuditFacts, study.pk, query), lambda: AuditFacts(study, query))

    def _arm(self, key: str, arm: Arm) -> ArmRuns | str:
        shown = {each.pk: each for each in self.experiments}
        for part in self.parts:
            experiment = shown.get(part.experiment_id or 0)
            if experiment and arm.experiment and part.key == key:
                return self._configuration(experiment, arm)
            if experiment and key in part.configurations:
                agents = AgentConfiguration.objects
                agent = agents.filter(config_hash=part.configurations[key]).first()
                if agent is not None:
                    return ArmRuns(experiment, agent)
        if arm.experiment:
            return not_found(_("experiment"), arm.experiment)
        return _("it has not run yet")

    def _configuration(self, experiment: Experiment, arm: Arm) -> ArmRuns | str:
        acted = self.scope(experiment).visible.order_by().values("agent")
        rows = AgentConfiguration.objects.filter(pk__in=acted)
        rows = rows.filter(name=arm.agent) if arm.agent else rows
        rows = rows.filter(model=arm.model) if arm.model else rows
        fitting = [each for each in rows if arm.config.items() <= each.config.items()]
        if len(fitting) == 1:
            return ArmRuns(experiment, fitting[0])
        words = _("%(n)s configurations of %(name)s fit; say `agent`, `model` or `config`")
        return words % {"n": len(fitting), "name": experiment.name}

    def page(self, place: Place) -> str:
        """The address of the page that shows two studies side by side; empty for other places."""
        if not (place.judging and place.versus):
            return ""
        first, second = self.study(place.judging), self.study(place.versus)
        return reverse("judging:audit_beside", args=[first.pk], query={"with": second.pk})

    def _audit_report(self, place: Place) -> Report:
        study = self.study(place.judging)
        facts = self.audit(study, place)
        try:
            check_split(facts, place.report)
        except ValueError as error:
            raise NoFigureError(str(error)) from None
        key = (place.report, "study", study.pk, facts.query)
        return self._made(key, lambda: AUDIT.make(place.report, facts))

    def _beside(self, place: Place) -> Report:
        """A report on two studies side by side, under the evaluators that its page opens with."""
        first, second = self.study(place.judging), self.study(place.versus)
        pair = (first.pk, second.pk)
        facts = self._made((TwoStudies, *pair), lambda: two_studies(first, second))
        key = (place.report, "studies", *pair)
        return self._made(key, lambda: TWO_STUDIES.make(place.report, facts))

    def _comparison(self, place: Place) -> Report:
        if not place.versus:
            raise NoFigureError(_("say which arm `versus` is"))
        first, second = self.arm(place.arm), self.arm(place.versus)
        facts = self.facts(first.experiment, place.verdict)
        key = (COMPARISON, place.arm, place.versus, place.verdict)
        one, two = self._side(first, place.arm), self._side(second, place.versus)
        return self._made(key, lambda: _counts(Comparison(one, two, facts.source)))

    def _side(self, runs: ArmRuns, name: str) -> Side:
        return Side(scope=self.scope(runs.experiment), agent=runs.agent, agent_name=name)

    def _made(self, key: tuple[object, ...], make: Callable[[], T]) -> T:
        if key not in self._known:
            self._known[key] = make()
        found: T = self._known[key]
        return found


def check_reports(file: StudyFile, name: str) -> None:
    """Raises StudyFileError where a figure stands in a report that there is none of."""
    for where, place in file.places():
        try:
            if place.judging or place.report != COMPARISON:
                registered(place)
        except NoFigureError as error:
            raise StudyFileError(name, f"{where}.report", str(error)) from None


def registered(place: Place) -> tuple[Registry[Any], str]:
    """The registry of the place's report, and its name there.

    Raises:
        NoFigureError: there is no report of the name, or it is a list of runs.
    """
    name = place.report
    found: tuple[Registry[Any], str] = registry_of(name) or (EXPERIMENT, name)
    if place.judging:
        found = (TWO_STUDIES if place.versus else AUDIT), name
    registry, key = found
    if key not in registry:
        raise NoFigureError(not_found(_("report"), name))
    if registry.entries[key].lists_runs:
        raise NoFigureError(_("%(name)s is a list of runs") % {"name": name})
    return registry, key


def _counts(comparison: Comparison) -> Report:
    """The comparison's figures and counts, without the runs that it lists below them."""
    report = comparison_report(comparison)
    task = [column.key for column in report.columns].index("task")
    return replace(report, rows=[row for row in report.rows if row[task] is None])


def _source(verdict: str) -> Source | None:
    """Whose verdicts are meant; None for no words."""
    if not verdict:
        return None
    try:
        return source_named(verdict)
    except ValueError as error:
        raise NoFigureError(str(error)) from None


def shown_to(user: User) -> QuerySet[Replication]:
    """Without those that have an experiment that the person may not know of: the file tells who
    acted in it.
    """
    parts = ReplicationPart.objects.filter(replication=OuterRef("pk"), experiment__isnull=False)
    # Asked of each part: a list of all that are shown would grow with the site.
    shown = Experiment.objects.visible_to(user).filter(pk=OuterRef("experiment"))
    return Replication.objects.exclude(Exists(parts.exclude(Exists(shown))))
