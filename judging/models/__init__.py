"""What is stored of people's and evaluators' judgements."""

from judging.models.adjudication import Dispute, DisputeMessage, ReferenceVerdict
from judging.models.batches import EvaluationBatch, EvaluationBatchItem, JudgeReply
from judging.models.causes import (
    Cause,
    CauseTag,
    FailureCause,
    FailureCauseTag,
    FailureReview,
    FailureSample,
    Repair,
    SampledFailure,
)
from judging.models.evaluations import Evaluation, EvaluationPatrol, EvaluatorVersion
from judging.models.labels import (
    Label,
    LabelRevision,
    MilestoneTick,
    StepComment,
    Success,
    Unblinding,
)
from judging.models.portability import LabelImport, StudyDownload, StudyDownloadPart
from judging.models.studies import Assignment, Guideline, Study, StudyItem, StudyMember

__all__ = [
    "Assignment",
    "Cause",
    "CauseTag",
    "Dispute",
    "DisputeMessage",
    "Evaluation",
    "EvaluationBatch",
    "EvaluationBatchItem",
    "EvaluationPatrol",
    "EvaluatorVersion",
    "FailureCause",
    "FailureCauseTag",
    "FailureReview",
    "FailureSample",
    "Guideline",
    "JudgeReply",
    "Label",
    "LabelImport",
    "LabelRevision",
    "MilestoneTick",
    "ReferenceVerdict",
    "Repair",
    "SampledFailure",
    "StepComment",
    "Study",
    "StudyDownload",
    "StudyDownloadPart",
    "StudyItem",
    "StudyMember",
    "Success",
    "Unblinding",
]
