"""What is stored of people's and evaluators' judgements."""

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
from judging.models.evaluations import (
    Evaluation,
    EvaluationBatch,
    EvaluationBatchItem,
    EvaluationPatrol,
    EvaluatorVersion,
    JudgeReply,
)
from judging.models.labels import (
    Dispute,
    DisputeMessage,
    Label,
    LabelRevision,
    MilestoneTick,
    ReferenceVerdict,
    StepComment,
    Success,
    Unblinding,
)
from judging.models.portability import (
    LabelImport,
    Replication,
    ReplicationPart,
    StudyDownload,
    StudyDownloadPart,
)
from judging.models.studies import Assignment, Guideline, Study, StudyItem, StudyMember
