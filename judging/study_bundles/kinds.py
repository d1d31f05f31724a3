"""The files of a study's bundle, and what the lines of each are."""

from __future__ import annotations

from judging.study_bundles.learned_records import HintSetLine, KnowledgeSetLine
from judging.study_bundles.records import (
    AttachmentLine,
    EvaluationLine,
    EvaluatorLine,
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
    "attachments": AttachmentLine,
    "hint_sets": HintSetLine,
    "knowledge_sets": KnowledgeSetLine,
}
"""By the name of their file, in the order in which they are written."""
SINCE_2 = frozenset(["hint_sets", "knowledge_sets"])
"""Files that bundles of version 1 do not have."""
