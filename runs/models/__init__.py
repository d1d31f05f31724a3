"""What is stored of tasks, agents, runs and steps."""

from runs.models.audit_log import AuditEntry
from runs.models.experiments import AgentConfiguration, Experiment, ExperimentState
from runs.models.imports import ImportJob, RunOfImport
from runs.models.knowledge import KnowledgeEntry, KnowledgeSet, KnowledgeSource
from runs.models.learning import (
    Hint,
    HintChoice,
    HintLevel,
    HintRelatedness,
    HintSet,
    HintSource,
    LearningItem,
    LearningJob,
)
from runs.models.leased_work import LeasedWork, PaidWork
from runs.models.people import ApiAnswer, ApiToken, Scope, User
from runs.models.policies import RetryPolicy
from runs.models.runs.queue import WorkerBeat
from runs.models.runs.run import Run
from runs.models.runs.turns import RunStatus
from runs.models.steps import (
    Attachment,
    Blob,
    DeletedRun,
    Event,
    PendingDeletion,
    RunSpace,
    SpaceMeasurement,
    Step,
)
from runs.models.tasks import Milestone, Task, TaskRevision, TaskSet
