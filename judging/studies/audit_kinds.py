"""The kinds of acts of judging that are written down. None tells what was said of a run.

Those of labels and disputes tell who judged which run when, and how long one took after another.
"""

from django.utils.translation import gettext_lazy as _

from runs.models.audit_log import kind

LABEL_SUBMITTED = kind("label.submitted", _("submitted a label"), is_blinded=True)
LABEL_CHANGED = kind("label.changed", _("changed a label"), is_blinded=True)
LABEL_UNDONE = kind("label.undone", _("took back a label"), is_blinded=True)
LABELS_IMPORTED = kind("label.imported", _("imported labels or verdicts"))
DISPUTE_SETTLED = kind("dispute.settled", _("agreed in discussion"), is_blinded=True)
DISPUTE_DECIDED = kind("dispute.decided", _("decided a dispute"), is_blinded=True)
UNBLINDED = kind("study.unblinded", _("came to see what was hidden"), is_blinded=True)

STUDY_MADE = kind("study.made", _("made a study"))
STUDY_CLOSED = kind("study.closed", _("closed a study"))
GUIDELINES_CHANGED = kind("study.guidelines_changed", _("changed guidelines"))
MEMBER_SET = kind("study.member_set", _("gave a part in a study"))
MEMBER_REMOVED = kind("study.member_removed", _("ended a part in a study"))
STUDY_EXPORTED = kind("study.exported", _("exported a study"))

EVALUATOR_ADDED = kind("evaluator.added", _("added a version of an evaluator"))
EVALUATION_STARTED = kind("evaluation.started", _("had runs evaluated"))
EVALUATION_CANCELLED = kind("evaluation.cancelled", _("stopped an evaluation"))
EVALUATION_RESUMED = kind("evaluation.resumed", _("resumed an evaluation"))
