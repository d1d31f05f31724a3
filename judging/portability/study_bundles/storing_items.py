"""Storing the runs of a study with all that people said of them, each whole or not at all."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any
from uuid import UUID

from judging.models import (
    Assignment,
    CauseTag,
    Dispute,
    DisputeMessage,
    EvaluatorVersion,
    Guideline,
    Label,
    LabelRevision,
    MilestoneTick,
    ReferenceVerdict,
    StepComment,
    Study,
    StudyItem,
    Unblinding,
)
from judging.portability.study_bundles.records import ItemLine, LabelPart, TagPart
from judging.portability.study_bundles.row_lines import renamed_fields
from judging.portability.study_bundles.storing import People, StudyReport, store_rows
from runs.models import Run

AUTHORITATIVE = "another study has settled it before, so its verdict here is not the run's"


class ItemStore:
    """Puts items into one study."""

    def __init__(
        self,
        study: Study,
        report: StudyReport,
        people: People,
        milestones: Mapping[str, int],
    ) -> None:
        self._study = study
        self._report = report
        self._people = people
        self._milestones = milestones
        self._guidelines = {row.version: row for row in Guideline.objects.filter(study=study)}
        self._evaluators: dict[str, EvaluatorVersion] = {}

    def store(self, line: ItemLine, run: Run) -> None:
        """Store the run's place in the study and everything about it. Inside a transaction."""
        item = StudyItem.objects.create(
            study=self._study,
            run=run,
            position=line.position,
            status=line.status,
            n_labels=sum(not label.is_repeat for label in line.labels),
        )
        self._assignments(item, line)
        for label in line.labels:
            self._label(item, label)
        store_rows(
            [
                StepComment(
                    item=item,
                    author=self._people(each.author),
                    is_repeat=each.is_repeat,
                    step_index=each.step,
                    text=each.text,
                    created_at=each.created_at,
                )
                for each in line.comments
            ],
            "created_at",
        )
        self._dispute(item, line)
        self._verdict(item, line)
        self._tags(item, line.tags)
        store_rows(
            [
                Unblinding(
                    study=self._study,
                    item=item,
                    user=self._people(each.user),
                    reason=each.reason,
                    at=each.at,
                )
                for each in line.unblindings
            ],
            "at",
        )
        self._report.new["items"] += 1
        self._report.new["labels"] += len(line.labels)

    def _assignments(self, item: StudyItem, line: ItemLine) -> None:
        store_rows(
            [
                Assignment(
                    item=item,
                    user=self._people(each.user),
                    draft=self._local(each.draft),
                    **each.model_dump(exclude={"user", "draft"}),
                )
                for each in line.assignments
            ]
        )

    def _label(self, item: StudyItem, part: LabelPart) -> None:
        label = Label.objects.create(
            id=self._free(Label, part.id, item),
            item=item,
            annotator=self._people(part.annotator),
            guideline=self._guideline(part.guideline),
            **part.model_dump(exclude={"id", "annotator", "guideline", "earlier", "ticks"}),
        )
        store_rows(
            [
                LabelRevision(label=label, at=each.at, content=self._local(each.content))
                for each in part.earlier
            ],
            "at",
        )
        for tick in part.ticks:
            key = self._milestones.get(tick.milestone)
            if key is None:
                self._report.conflict(
                    f"label {part.id}: a tick of a milestone that the task has not here"
                )
                continue
            MilestoneTick.objects.create(
                label=label, milestone_id=key, **tick.model_dump(exclude={"milestone"})
            )

    def _dispute(self, item: StudyItem, line: ItemLine) -> None:
        if line.dispute is None:
            return
        part = line.dispute
        dispute = Dispute(item=item, **part.model_dump(exclude={"messages"}))
        store_rows([dispute], "opened_at")
        store_rows(
            [
                DisputeMessage(
                    dispute=dispute,
                    author=self._people(each.author),
                    **each.model_dump(exclude={"author"}),
                )
                for each in part.messages
            ],
            "created_at",
        )

    def _verdict(self, item: StudyItem, line: ItemLine) -> None:
        if line.verdict is None:
            return
        part = line.verdict
        # The run's lock makes two studies that settle it take turns.
        run = Run.objects.select_for_update(of=("self",)).get(pk=item.run_id)
        standing = ReferenceVerdict.objects.filter(run=run, is_authoritative=True).exists()
        if part.is_authoritative and standing:
            self._report.conflict(f"run {run.pk}: {AUTHORITATIVE}")
        ReferenceVerdict.objects.create(
            id=self._free(ReferenceVerdict, part.id, item),
            item=item,
            run=run,
            decided_by=self._people.maybe(part.decided_by),
            is_authoritative=part.is_authoritative and not standing,
            run_created_at=run.created_at,
            **part.model_dump(exclude={"id", "decided_by", "is_authoritative"}),
        )

    def _tags(self, item: StudyItem, tags: Iterable[TagPart]) -> None:
        stored: dict[int, CauseTag] = {}
        for part in sorted(tags, key=lambda one: one.number):
            row = CauseTag(
                item=item,
                evaluator=self._evaluator(part.evaluator),
                by=self._people(part.by),
                replaces=stored[part.replaces] if part.replaces is not None else None,
                **part.model_dump(exclude={"number", "evaluator", "by", "replaces"}),
            )
            store_rows([row], "at")
            stored[part.number] = row

    def _evaluator(self, config_hash: str) -> EvaluatorVersion:
        if config_hash not in self._evaluators:
            self._evaluators[config_hash] = EvaluatorVersion.objects.get(config_hash=config_hash)
        return self._evaluators[config_hash]

    def _guideline(self, version: int | None) -> Guideline | None:
        return None if version is None else self._guidelines.get(version)

    def _local(self, content: Mapping[str, Any]) -> dict[str, Any]:
        def guideline(version: Any) -> int | None:
            row = self._guidelines.get(version) if isinstance(version, int) else None
            return row.pk if row else None

        def milestone(key: str) -> str | None:
            found = self._milestones.get(key)
            return None if found is None else str(found)

        return renamed_fields(content, milestone, guideline)

    def _free(self, model: type[Label | ReferenceVerdict], own: UUID, item: StudyItem) -> UUID:
        """The id of the file; another one if it is taken, which is named."""
        if not model._default_manager.filter(pk=own).exists():
            return own
        kind = model._meta.verbose_name
        self._report.conflict(f"{kind} {own} of run {item.run_id}: the id is taken here")
        return model().pk
