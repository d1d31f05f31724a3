"""All background tasks of judging, imported so that Celery and the sweep know them."""

import judging.analysis.milestone_proposals.proposing
import judging.analysis.miniwob.tasks
import judging.evaluating.tasks
import judging.portability.label_imports.services
import judging.portability.study_report.downloads  # noqa: F401
