"""The files of a study's bundle, and what the lines of each are."""

from __future__ import annotations

from judging.portability.study_bundles.learned_records import HintSetLine, KnowledgeSetLine
from judging.portability.study_bundles.records import (
    AttachmentLine,
    EvaluationLine,
    EvaluatorLine,
    FailureTagLine,
    GuidelineLine,
    ItemLine,
    Line,
    MemberLine,
    MilestoneLine,
    ReviewLine,
    StudyLine,
    TaskLine,
    TaskSetLine,
    UnblindingLine,
)

KINDS: dict[str, type[Line]] = {
    "study": StudyLine,
    "task_sets": TaskSetLine,
    "tasks": TaskLine,
    "milestones": MilestoneLine,
    "evaluators": EvaluatorLine,
    "guidelines": GuidelineLine,
    "members": MemberLine,
    "items": ItemLine,
    "unblindings": UnblindingLine,
    "evaluations": EvaluationLine,
    "reviews": ReviewLine,
    "failure_tags": FailureTagLine,
    "attachments": AttachmentLine,
    "hint_sets": HintSetLine,
    "knowledge_sets": KnowledgeSetLine,
}
"""By the name of their file, in the order in which they are written."""
SINCE = {"hint_sets": 2, "knowledge_sets": 2, "failure_tags": 3}
"""The version from which on bundles have a file; all others they had from the first."""
