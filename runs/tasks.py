"""All background tasks of runs, imported so that Celery and the sweep know them."""

import runs.api.idempotency
import runs.imports.tasks
import runs.knowledge.hints.writing
import runs.knowledge.learning
import runs.knowledge.web.jobs
import runs.launching.carrying_out.tasks
import runs.launching.experiments.waiting
import runs.operations.space.measuring
import runs.queue.sweeping  # noqa: F401 (each registers its tasks)
