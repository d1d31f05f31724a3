"""What judging adds to runs; registered in `judging.apps`."""

from __future__ import annotations

from collections.abc import Sequence

from judging.analysis.rerun_facts import RerunFacts
from judging.integrity.of_judgements import invariants
from judging.portability.judgements.extension import StoredVerdicts
from judging.studies.blinding.policy import StudyPolicy
from judging.studies.deletion_guards import deletion_reasons
from judging.studies.run_list import ReferenceVerdictColumn
from runs.operations.integrity.contract import Invariant
from runs.operations.retention.deletion_guards import Reason


class JudgingExtension:
    """The `runs.extension.Extension` of this app."""

    policy = StudyPolicy()
    verdicts = StoredVerdicts()
    run_list = ReferenceVerdictColumn()
    judgements = RerunFacts()

    def deletion_reasons(self) -> Sequence[Reason]:
        return deletion_reasons()

    def invariants(self) -> Sequence[Invariant]:
        return list(invariants())
