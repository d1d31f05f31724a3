"""What runs that are imported together share: bounds, rows that they refer to, writers of files."""

from collections import deque
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import timedelta
from functools import cached_property
from uuid import UUID

from django.conf import settings
from django.db.models import Q
from django.utils import timezone

from runs.catalogue.agents import agent_hash, store_agent
from runs.catalogue.tasks.rows import store_task
from runs.models import AgentConfiguration, Experiment, ImportJob, Run, RunOfImport, Task, User
from runs.models.hooks import announce_ends
from runs.storage.blobs import BlobBatch
from runs.storage.links import RunLinks
from webagent.agents.running import SOURCE_FORMAT
from webagent.trajectory.blobs import BlobStash
from webagent.trajectory.bundles import RunBundle
from webagent.trajectory.intake import Bounds
from webagent.trajectory.records import RunRecord, TaskRecord
from webagent.trajectory.texts import bounded_name


def import_bounds() -> Bounds:
    """Bounds with everything that the environment may set; the rest keeps its default."""
    env = settings.ENV
    return Bounds(
        upload_bytes=env.IMPORT_MAX_UPLOAD_BYTES,
        total_bytes=env.IMPORT_MAX_UNPACKED_BYTES,
        members=env.IMPORT_MAX_MEMBERS,
        ratio=env.IMPORT_MAX_RATIO,
        image_pixels=env.IMPORT_MAX_PIXELS,
        json_depth=env.IMPORT_MAX_JSON_DEPTH,
        text_chars=env.IMPORT_MAX_TEXT_CHARS,
        steps_per_run=env.IMPORT_MAX_STEPS,
        pickle_bytes=env.IMPORT_MAX_PICKLE_BYTES,
        pickle_seconds=env.IMPORT_MAX_FILE_SECONDS,
    )


TOGETHER = 100
"""Runs of which others are told at once: they cost as many queries then as one."""
UNTOLD_FOR = timedelta(days=1)
"""An import that died may be taken up so much later."""


class ImportSession:
    """Tasks, agents and experiments, each looked up once, and the links between the runs.

    Args:
        tells_together: others are told of a few runs at a time; `tell` of the last ones.
        job: the import by upload that brings the runs.
    """

    def __init__(
        self,
        *,
        user: User | None = None,
        thumbnails_follow: bool = False,
        tells_together: bool = False,
        job: ImportJob | None = None,
    ) -> None:
        self.user = user
        self._job = job
        self.thumbnails_follow = thumbnails_follow
        self._at_once = TOGETHER if tells_together else 1
        self._untold: list[UUID] = []
        self._limited: dict[str, Experiment | None] = {}
        self.links = RunLinks()
        self._tasks: dict[str, Task] = {}
        self._agents: dict[str, AgentConfiguration] = {}
        self._experiments: dict[str | None, Experiment | None] = {}

    @cached_property
    def writers(self) -> ThreadPoolExecutor:
        """Threads that write files; `close` ends them."""
        return ThreadPoolExecutor(max_workers=WRITERS)

    def close(self) -> None:
        """Nothing more is written. Whoever made the session calls it."""
        if "writers" in vars(self):
            self.writers.shutdown()
            del self.writers

    def forget(self) -> None:
        """Look everything up anew: a transaction was rolled back, or another took rows away."""
        self._tasks.clear()
        self._agents.clear()
        self._experiments.clear()
        self._limited.clear()

    def stored(self, *run_ids: UUID) -> None:
        """Tell others that the runs are here, together with those before them. After the commit."""
        self._untold += run_ids
        if len(self._untold) >= self._at_once:
            self.tell()

    def brought(self, *runs: tuple[UUID, RunBundle]) -> None:
        """Note that these are new, for whoever takes the import up. In their transaction."""
        if self._job:
            rows = [
                RunOfImport(job=self._job, id_in_file=bundle.run.id, run_id=run_id)
                for run_id, bundle in runs
            ]
            RunOfImport.objects.bulk_create(rows, ignore_conflicts=True)

    def met(self, run: Run) -> None:
        """A run was here already: whoever stored it a while ago may have died before telling."""
        if self._at_once > 1 and run.created_at > timezone.now() - UNTOLD_FOR:
            self.stored(run.pk)

    def tell(self) -> None:
        """Tell others of the runs that they have not been told of."""
        untold, self._untold = self._untold, []
        if untold:
            announce_ends(Run, untold)

    def task(self, record: TaskRecord) -> Task:
        """Its row; made if it is new."""
        key = record.model_dump_json()
        if key not in self._tasks:
            self._tasks[key] = store_task(record)
        return self._tasks[key]

    def agent(self, run: RunRecord) -> AgentConfiguration:
        """The row of its agent. Which models answered is no part of what one of ours is made of:
        another agent may have taken over for some steps.
        """
        models = () if run.source.format == SOURCE_FORMAT else run.models
        key = agent_hash(run.agent, models)
        if key not in self._agents:
            self._agents[key] = store_agent(run.agent, models)
        return self._agents[key]

    def experiment(self, name: str | None) -> Experiment | None:
        """The experiment of this name, made if there is none; None without a name."""
        if name not in self._experiments:
            self._experiments[name] = experiment_named(name, self.user)
        return self._experiments[name]

    def limited(self, name: str | None) -> Experiment | None:
        """The experiment of this name, if there is one that may only hold so much."""
        if not name:
            return None
        if name not in self._limited:
            has_limit = Q(max_runs__isnull=False) | Q(max_bytes__isnull=False)
            found = Experiment.objects.filter(has_limit, name=bounded_name(name)).first()
            self._limited[name] = found
        return self._limited[name]


def experiment_named(name: str | None, user: User | None) -> Experiment | None:
    """The experiment of this name, made if there is none; None without a name."""
    if not name:
        return None
    by = {"created_by": user}
    return Experiment.objects.get_or_create(name=bounded_name(name), defaults=by)[0]


WRITERS = 4
"""Files written at a time, which mostly waits for the disk."""
FILES_IN_TURN = 4
LARGE_BYTES = 1_000_000
"""A thread is handed so many small files at once, for handing over takes its time too."""


def write_files(
    bundle: RunBundle, wanted: Iterable[str], batch: BlobBatch, writers: ThreadPoolExecutor
) -> BlobBatch:
    """Write those files of a run, a few at a time; `sync` the batch before rows name them.

    Raises what reading or writing one of them raises.
    """
    media_types = {blob.sha256: blob.media_type for blob in bundle.blob_records()}
    pictures = bundle.blobs.pictures if isinstance(bundle.blobs, BlobStash) else {}
    under_way: deque[Future[None]] = deque()

    def write(some: list[tuple[bytes, str, str]]) -> None:
        for content, media_type, sha256 in some:
            batch.add(content, media_type, sha256, pictures.get(sha256))

    def begin(some: list[tuple[bytes, str, str]]) -> None:
        if len(under_way) == WRITERS:
            under_way.popleft().result()
        under_way.append(writers.submit(write, some))

    try:
        some: list[tuple[bytes, str, str]] = []
        for sha256 in wanted:
            content = bundle.read_blob(sha256)
            some.append((content, media_types[sha256], sha256))
            if len(some) == FILES_IN_TURN or len(content) > LARGE_BYTES:
                begin(some)
                some = []
        if some:
            begin(some)
        while under_way:
            under_way.popleft().result()
    finally:
        for each in under_way:
            each.exception()
    return batch
