"""What is stored of people's and evaluators' judgements."""

from judging.models.adjudication import Dispute, DisputeMessage, ReferenceVerdict
from judging.models.batches import EvaluationBatch, EvaluationBatchItem, JudgeReply
from judging.models.causes import Cause, CauseTag, Repair
from judging.models.downloads import StudyDownload, StudyDownloadPart
from judging.models.evaluations import Evaluation, EvaluatorVersion
from judging.models.failure_causes import (
    FailureCause,
    FailureCauseTag,
    FailureSample,
    SampledFailure,
)
from judging.models.failure_modes import FailureReview
from judging.models.label_imports import LabelImport
from judging.models.labels import (
    Assignment,
    Label,
    LabelRevision,
    StepComment,
    Success,
    Unblinding,
)
from judging.models.patrols import EvaluationPatrol
from judging.models.studies import Guideline, Study, StudyItem, StudyMember
from judging.models.ticks import MilestoneTick

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
