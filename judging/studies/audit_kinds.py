"""The kinds of entries of judging in the audit log. None holds a judgement.

Those of labels and disputes show who judged which run when, and how long one took after another.
"""

from django.utils.translation import gettext_lazy as _

from runs.models.audit_log import kind

LABEL_SUBMITTED = kind("label.submitted", _("submitted a label"), is_blinded=True)
LABEL_CHANGED = kind("label.changed", _("changed a label"), is_blinded=True)
LABEL_UNDONE = kind("label.undone", _("undid a label"), is_blinded=True)
LABELS_IMPORTED = kind("label.imported", _("imported labels or verdicts"))
DISPUTE_SETTLED = kind("dispute.settled", _("agreed in discussion"), is_blinded=True)
DISPUTE_DECIDED = kind("dispute.decided", _("decided a dispute"), is_blinded=True)
UNBLINDED = kind("study.unblinded", _("viewed blinded data"), is_blinded=True)

STUDY_MADE = kind("study.made", _("created a study"))
STUDY_CLOSED = kind("study.closed", _("closed a study"))
GUIDELINES_CHANGED = kind("study.guidelines_changed", _("changed guidelines"))
MEMBER_SET = kind("study.member_set", _("added a study member"))
MEMBER_REMOVED = kind("study.member_removed", _("removed a study member"))
STUDY_EXPORTED = kind("study.exported", _("exported a study"))

EVALUATOR_ADDED = kind("evaluator.added", _("added a version of an evaluator"))
EVALUATION_STARTED = kind("evaluation.started", _("started an evaluation"))
EVALUATION_CANCELLED = kind("evaluation.cancelled", _("stopped an evaluation"))
EVALUATION_RESUMED = kind("evaluation.resumed", _("resumed an evaluation"))
