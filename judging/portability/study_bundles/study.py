"""A study out and in: as the lines of its bundle, in an order that follows from what they say."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from django.db.models import Q, QuerySet

from judging.models import EvaluatorVersion, Guideline, Study, StudyMember, Unblinding
from judging.portability.study_bundles.items import ItemLines, ItemStore
from judging.portability.study_bundles.judged import (
    attachment_lines,
    evaluation_lines,
    failure_tag_lines,
    review_lines,
    store_judged,
)
from judging.portability.study_bundles.learned import (
    hint_set_lines,
    knowledge_set_lines,
    store_learned,
)
from judging.portability.study_bundles.reading import BundleError
from judging.portability.study_bundles.records import (
    EvaluatorLine,
    GuidelineLine,
    ItemLine,
    Line,
    MemberLine,
    StudyLine,
    UnblindingLine,
)
from judging.portability.study_bundles.storing import BundleStore, insert, is_same
from judging.portability.study_bundles.tasks import TaskLines
from runs.models import Run
from webagent.trajectory.canonical import hashed_json
from webagent.trajectory.intake import Problem

NO_MEMBER = "somebody who is no member here has a part in it"
OTHER_STUDY = "another study has this name here; import this one under another name"


class StudyContents:
    """The lines of one study by file; each is read when it is asked for."""

    def __init__(self, study: Study) -> None:
        self._study = study
        self._tasks = TaskLines(self._ids())

    def lines(self) -> Mapping[str, Callable[[], Iterable[Line]]]:
        """What writes each file; the names are those of `kinds.KINDS`."""
        return {
            "study.jsonl": self.head,
            "task_sets.jsonl": self._tasks.sets,
            "tasks.jsonl": self._tasks.tasks,
            "milestones.jsonl": self._tasks.milestones,
            "evaluators.jsonl": self._evaluators,
            "guidelines.jsonl": self._guidelines,
            "members.jsonl": self.members,
            "items.jsonl": self.items,
            "unblindings.jsonl": self.unblindings,
            "evaluations.jsonl": lambda: evaluation_lines(self._ids()),
            "reviews.jsonl": lambda: review_lines(self._ids()),
            "failure_tags.jsonl": lambda: failure_tag_lines(self._ids()),
            "attachments.jsonl": lambda: attachment_lines(self._ids()),
            "hint_sets.jsonl": lambda: hint_set_lines(self._ids()),
            "knowledge_sets.jsonl": lambda: knowledge_set_lines(self._ids()),
        }

    @property
    def runs(self) -> QuerySet[Run]:
        return Run.objects.filter(study_items__study=self._study).order_by("study_items__position")

    def head(self) -> Iterator[StudyLine]:
        yield StudyLine.of(self._study)

    def items(self) -> Iterator[ItemLine]:
        """One line a run, with all that was said of it in the study."""
        return ItemLines(self._study, self._tasks).lines()

    def unblindings(self) -> Iterator[UnblindingLine]:
        """Those of the study as a whole; a run's stand with the run."""
        rows = Unblinding.objects.filter(study=self._study, item=None).select_related("user")
        return map(UnblindingLine.of, rows.order_by("user__username", "at", "pk"))

    def _ids(self) -> QuerySet[Run, Any]:
        return self.runs.order_by().values("pk")

    def _evaluators(self) -> Iterator[Line]:
        used = Q(evaluations__run__in=self._ids()) | Q(cause_tags__item__study=self._study)
        rows = EvaluatorVersion.objects.filter(used).distinct().order_by("config_hash")
        return map(EvaluatorLine.of, rows)

    def _guidelines(self) -> Iterator[Line]:
        rows = self._study.guidelines.select_related("created_by").order_by("version")
        return map(GuidelineLine.of, rows)

    def members(self) -> Iterator[MemberLine]:
        """People of the study with their roles, by name."""
        rows = self._study.members.select_related("user").order_by("user__username")
        return map(MemberLine.of, rows)


def store_study(store: BundleStore, name: str | None) -> Study:
    """Store a study whose tasks and runs are here. Inside a transaction.

    Raises:
        BundleError: a run is missing, or another study has the name.
    """
    study, is_new = _study(store, name)
    _guidelines(store, study, is_new)
    _members(store, study, is_new)
    store_judged(store)
    _items(store, study, is_new)
    store_learned(store)
    return study


def _study(store: BundleStore, name: str | None) -> tuple[Study, bool]:
    line = next(store.bundle.lines(StudyLine))
    line = line.model_copy(update={"name": name}) if name else line
    here = Study.objects.filter(name=line.name).first()
    if here is None:
        study = store.row(Study, line)
        insert([study])
        store.report.new["study"] += 1
        return study, True
    if (here.created_at, here.sample_seed) != (line.created_at, line.sample_seed):
        raise BundleError(Problem("", "study.jsonl", "name", OTHER_STUDY, 1))
    words = f"study {line.name}: its protocol or state is otherwise here"
    store.report.is_new("study", is_same(line, StudyLine.of(here)), words)
    return here, False


def _guidelines(store: BundleStore, study: Study, is_new: bool) -> None:
    """A study that is here keeps its own: whoever labels it is shown the newest at once."""
    here = dict(study.guidelines.values_list("version", "text"))
    for line in store.bundle.lines(GuidelineLine):
        same = None if is_new else here.get(line.version) == line.text
        words = f"guidelines {line.version}: are otherwise here"
        if store.report.is_new("guidelines", same, words):
            store.insert(Guideline, [line], study=study)


def _members(store: BundleStore, study: Study, is_new: bool) -> None:
    """A study that is here keeps its own, which its page alone changes."""
    here = {member.user: member for member in StudyContents(study).members()}
    for line in store.bundle.lines(MemberLine):
        same = None if is_new else here.get(line.user) == line
        words = f"member {line.user}: has another part here, or none"
        if store.report.is_new("members", same, words):
            store.insert(StudyMember, [line], study=study)


def _items(store: BundleStore, study: Study, is_new: bool) -> None:
    items = ItemStore(study, store)
    contents = StudyContents(study)
    here = {} if is_new else {line.run.id: line for line in contents.items()}
    people = {member.user for member in contents.members()}
    for line in store.bundle.lines(ItemLine):
        run = store.run(line.run, "items.jsonl")
        if run.pk in here:
            words = f"run {run.pk} in the study: is otherwise here, and stays"
            store.report.is_new("items", is_same(line, here[run.pk]), words)
        elif not is_new and not line.judges <= people:
            store.report.conflict(f"run {run.pk} in the study: {NO_MEMBER}")
        else:
            items.store(line, run)
    known = set(map(hashed_json, contents.unblindings()))
    for seen in store.bundle.lines(UnblindingLine):
        if store.report.is_new("unblindings", hashed_json(seen) in known or None, ""):
            store.insert(Unblinding, [seen], study=study)
