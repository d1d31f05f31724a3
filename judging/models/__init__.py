"""What is stored of people's and evaluators' judgements."""

from judging.models.adjudication import Dispute, DisputeMessage, ReferenceVerdict
from judging.models.evaluations import Evaluation, EvaluatorVersion
from judging.models.labels import (
    Assignment,
    Label,
    LabelRevision,
    StepComment,
    Success,
    Unblinding,
)
from judging.models.studies import Guideline, Study, StudyItem, StudyMember

__all__ = [
    "Assignment",
    "Dispute",
    "DisputeMessage",
    "Evaluation",
    "EvaluatorVersion",
    "Guideline",
    "Label",
    "LabelRevision",
    "ReferenceVerdict",
    "StepComment",
    "Study",
    "StudyItem",
    "StudyMember",
    "Success",
    "Unblinding",
]
