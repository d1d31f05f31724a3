"""Reading the next runs, and writing their files, in a process beside the one that stores rows.

Nearly half of an import is reading, checking and files, and Python gives a process no more than
one processor. The process beside this one knows nothing of the database: it is told which files
are new, and says of each run when its files are sure to be on the disk. Whatever becomes of it,
this one goes on by itself where it stopped.
"""

import contextlib
import gc
import logging
import os
import queue
import signal
import socket
import sys
import tempfile
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import islice
from multiprocessing.connection import Connection, Pipe
from typing import NoReturn, Self, TypeGuard

from runs.exports.services import StoredBlobs
from runs.imports.rows import n_bytes
from runs.imports.session import WRITERS, write_files
from runs.storage.blobs import BlobBatch, sync_together
from runs.storage.file_storage import BlobFileStorage, StoreUnavailableError, blob_storage
from webagent.process.children import HeldFolder, end_with_parent
from webagent.trajectory.blobs import HELD_BYTES, BlobStash
from webagent.trajectory.bundles import RunBundle
from webagent.trajectory.intake import Problem
from webagent.trajectory.reading import RunSource

logger = logging.getLogger(__name__)

AHEAD, AHEAD_BYTES = 24, 64_000_000
"""Runs that are read and whose files are not written, and what these hold of memory: so many that
the other process has enough to do while rows are stored."""
UNSTORED = 48
"""Runs whose files are written and whose rows are not stored yet: of so many a kill leaves files
that no row names, and so many the disk makes sure of at once."""
AT_ONCE = 8
"""Runs of which the database is asked at once what is new, and that come out together. Others who
write to SQLite wait until they are stored, and that takes 20 to 50 ms."""
FEWEST_RUNS = 20
"""Of fewer, making another process is not worth its while."""
PATIENCE_S = 300.0
"""Without a word from it, the other process is abandoned."""
FOLDER = "crosscheck-reading-"
"""How the names of folders begin that are the other process's; it may be killed with the first."""


@dataclass(frozen=True, slots=True)
class ReadRun:
    """A run that was read, and what became of its files; None where they are to be written yet."""

    bundle: RunBundle
    files: BlobBatch | Exception | None = None


Wanted = Callable[[Sequence[RunBundle]], Sequence[set[str] | Exception]]
"""The hashes of each run's files that are to be written; why none, which comes out as `files`."""
_Message = Problem | RunBundle | BlobBatch | Exception | None
"""What the other process says: what it read, what it wrote, why it could not; None at the end."""


def can_read_ahead(source: object) -> TypeGuard[RunSource]:
    """Whether another process would help with these, and can be had."""
    return (
        sys.platform == "linux"
        and isinstance(source, RunSource)
        and source.total >= FEWEST_RUNS
        and len(os.sched_getaffinity(0)) > 1
        # Connections to a store elsewhere do not survive a fork.
        and isinstance(blob_storage(), BlobFileStorage)
    )


class ReadingAhead:
    """The runs of a source as another process reads them, a few at a time, in their order.

    Iterate once, inside `with`.

    Nothing else may read the source meanwhile: both processes have its files open.

    Args:
        wanted: asked of runs once they are read, in this process.
    """

    def __init__(
        self, source: RunSource, wanted: Wanted, *, thumbnails_follow: bool = False
    ) -> None:
        self._source = source
        self._wanted = wanted
        self._thumbnails_follow = thumbnails_follow
        self._said: queue.SimpleQueue[_Message | EOFError] = queue.SimpleQueue()
        self._child = 0
        self._is_alone = False
        self._told = 0
        """Runs and problems that need not come out again."""

    def __enter__(self) -> Self:
        # What the other process leaves in temporary files goes with this folder.
        self._folder = HeldFolder(FOLDER)
        self._pipe, theirs = Pipe()
        # What is here stays as long as the import: neither process need look for garbage in it.
        # Nor are connections and browsers of the first the other's to close.
        gc.freeze()
        parent = os.getpid()
        self._child = os.fork()
        if not self._child:
            self._pipe.close()
            _be_the_other(parent, theirs, self._source, self._folder.path, self._thumbnails_follow)
        theirs.close()
        self._listener = threading.Thread(target=self._listen, name="reading ahead", daemon=True)
        self._listener.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def read_inline(self, n_done: int) -> bool:
        """Read what came last once more in this process, but for the first few, and all after it.

        Returns False where that is done already.
        """
        if self._is_alone:
            return False
        self._is_alone = True
        self._told += n_done
        return True

    def __iter__(self) -> Iterator[Sequence[ReadRun | Problem]]:
        try:
            for some in self._as_told():
                yield some
                if self._is_alone:
                    break
                self._told += len(some)
            else:
                return
        except (EOFError, queue.Empty):
            logger.warning("The process that reads ahead is gone. This one goes on alone.")
            self._is_alone = True
        self._end()
        for found in islice(self._source, self._told, None):
            yield [found if isinstance(found, Problem) else ReadRun(found)]

    def _as_told(self) -> Iterator[Sequence[ReadRun | Problem]]:
        """In the order of the source. Raises EOFError or queue.Empty if the other is gone.

        What was said meanwhile is heard before the next runs come out: the other goes on writing
        files while rows are stored.
        """
        read, answered = deque[RunBundle | Problem](), deque[ReadRun | Problem]()
        written = deque[BlobBatch | Exception]()
        is_over = False
        while True:
            n_answered = sum(isinstance(item, ReadRun) for item in answered)
            is_idle = len(written) == n_answered and self._said.empty()
            if len(read) >= AT_ONCE or is_idle:
                some = [read.popleft() for _ in range(min(len(read), UNSTORED - len(answered)))]
                answered += self._answered(some)
                n_answered = sum(isinstance(item, ReadRun) for item in answered)
            is_due = bool(answered) and len(written) >= min(AT_ONCE, n_answered)
            if is_due and self._said.empty():
                yield list(islice(_due(answered, written), AT_ONCE))
            elif is_over and not is_due:
                if read or answered:
                    raise EOFError
                return
            else:
                said = self._said.get(timeout=PATIENCE_S)
                if isinstance(said, EOFError):
                    raise said
                if isinstance(said, RunBundle | Problem):
                    read.append(said)
                elif said is None:
                    is_over = True
                else:
                    written.append(said)

    def _answered(self, some: Sequence[RunBundle | Problem]) -> Iterator[ReadRun | Problem]:
        """Tell the other which files of the runs to write."""
        bundles = [item for item in some if isinstance(item, RunBundle)]
        answers = iter(self._wanted(bundles) if bundles else ())
        for item in some:
            if isinstance(item, Problem):
                yield item
                continue
            answer = next(answers)
            problem = answer if isinstance(answer, Exception) else None
            wanted = set() if isinstance(answer, Exception) else answer
            with contextlib.suppress(ConnectionError):
                self._pipe.send_bytes(bytes(blob.sha256 in wanted for blob in item.blob_records()))
            yield ReadRun(item, problem)

    def _listen(self) -> None:
        """Take what the other says off the line, so that it can go on reading."""
        try:
            while True:
                said = self._pipe.recv()
                self._said.put(said)
                if said is None:
                    return
        except Exception:  # noqa: BLE001 (gone, or it says what cannot be read: alone we know why)
            self._said.put(EOFError())

    def _end(self) -> None:
        if not self._child:
            return
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._child, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self._child, 0)
        self._child = 0
        gc.unfreeze()
        # Another process that was forked meanwhile may hold the other end open.
        with socket.socket(fileno=os.dup(self._pipe.fileno())) as line:
            line.shutdown(socket.SHUT_RDWR)
        self._listener.join()
        self._pipe.close()
        self._folder.remove()


def _due(
    answered: deque[ReadRun | Problem], written: deque[BlobBatch | Exception]
) -> Iterator[ReadRun | Problem]:
    """Take those whose files are written, and problems between them."""
    while answered and (written or isinstance(answered[0], Problem)):
        item = answered.popleft()
        if isinstance(item, ReadRun):
            files = written.popleft()
            item = item if item.files else replace(item, files=files)
        yield item


def _be_the_other(
    parent: int, pipe: Connection, source: RunSource, folder: str, thumbnails_follow: bool
) -> NoReturn:
    """All that the other process does. It ends with the first, and without tidying up for it."""
    status = 1
    try:
        end_with_parent(parent, signal.SIGKILL)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        tempfile.tempdir = folder
        _read(pipe, source, thumbnails_follow)
        status = 0
    except (EOFError, ConnectionError):
        pass  # The first is gone.
    except BaseException:
        logger.exception("Reading ahead broke.")
    finally:
        os._exit(status)


def _read(pipe: Connection, source: RunSource, thumbnails_follow: bool) -> None:
    waiting: deque[RunBundle] = deque()
    held = 0
    line = threading.Lock()

    def say(message: _Message) -> None:
        with line:
            pipe.send(message)

    with ThreadPoolExecutor(max_workers=WRITERS) as writers, _GroupSync(say) as written:

        def write_next() -> None:
            nonlocal held
            bundle = waiting.popleft()
            held -= _held(bundle)
            answer = pipe.recv_bytes()
            blobs = zip(bundle.blob_records(), answer, strict=True)
            wanted = [blob.sha256 for blob, is_wanted in blobs if is_wanted]
            batch = BlobBatch(thumbnails_follow=thumbnails_follow)
            try:
                written.add(write_files(bundle, wanted, batch, writers))
            except Exception as error:  # noqa: BLE001 (it concerns this run, and is told with it)
                written.add(error)
            if isinstance(bundle.blobs, BlobStash):
                bundle.blobs.close()

        for found in source:
            if isinstance(found, RunBundle):
                say(_light(found))
                waiting.append(found)
                held += _held(found)
            else:
                say(found)
            while waiting and (len(waiting) >= AHEAD or held >= AHEAD_BYTES or pipe.poll()):
                write_next()
        while waiting:
            write_next()
    say(None)


def _held(bundle: RunBundle) -> int:
    """The most that its files take of memory."""
    return min(n_bytes(bundle), HELD_BYTES)


class _GroupSync:
    """Makes sure of written files, and then says so of one run after the other.

    While the disk makes sure of some, others are written; it makes sure of all of those together
    next, which takes little longer than for one run. Leaving waits until all is said.
    """

    def __init__(self, say: Callable[[BlobBatch | Exception], None]) -> None:
        self._say = say
        self._written: queue.SimpleQueue[BlobBatch | Exception | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="group sync", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._written.put(None)
        self._thread.join()

    def add(self, files: BlobBatch | Exception) -> None:
        """Take the files of the next run, or why they could not be written."""
        self._written.put(files)

    def _run(self) -> None:
        with contextlib.suppress(ConnectionError):  # the first is gone, as the next answer shows
            while True:
                some = [self._written.get(), *self._waiting()]
                for each in _synced([files for files in some if files is not None]):
                    self._say(each)
                if some[-1] is None:
                    return

    def _waiting(self) -> Iterator[BlobBatch | Exception | None]:
        with contextlib.suppress(queue.Empty):
            while True:
                yield self._written.get_nowait()


def _synced(written: Sequence[BlobBatch | Exception]) -> Sequence[BlobBatch | Exception]:
    """The same with all files made sure of together; why they could not be, where that failed."""
    try:
        sync_together(each for each in written if isinstance(each, BlobBatch))
    except (OSError, StoreUnavailableError) as error:
        return [error if isinstance(each, BlobBatch) else each for each in written]
    return written


def _light(bundle: RunBundle) -> RunBundle:
    """The run without its bytes, which the store has."""
    return replace(bundle, blobs=StoredBlobs())
