"""What may break, and what is promised then: the list of docs/reliability.md."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Failure:
    """One kind of failure and what holds after it."""

    number: int
    name: str
    promise: str


FAILURES = (
    Failure(
        1,
        "A worker, or any other process of the site, dies at any moment",
        "The next attempt starts within a lease and 30 seconds, and so does what is queued; "
        "finished steps are kept.",
    ),
    Failure(
        2,
        "The broker dies or forgets its messages",
        "No run is lost; requests are accepted meanwhile; work goes on within 90 seconds.",
    ),
    Failure(
        3,
        "The database restarts, or the web process is killed while it writes",
        "What was answered with success is stored; else the answer is 503, never 500.",
    ),
    Failure(
        4,
        "Messages are delivered many times",
        "A run is carried out once and a model is paid once.",
    ),
    Failure(
        5,
        "A worker is frozen past its lease, for good or until it wakes up",
        "It can write nothing: another has its work. It is replaced, and reported until then.",
    ),
    Failure(
        6,
        "A process dies between storing work and telling a worker",
        "No worker sees what is not stored; what was stored is found by the sweep.",
    ),
    Failure(
        7,
        "A browser crashes, hangs or is left behind",
        "It is an error of the infrastructure, not of the agent; no process stays.",
    ),
    Failure(
        8,
        "A model's provider fails or answers nonsense",
        "It is an error of the evaluator and never a verdict; every paid call is counted.",
    ),
    Failure(9, "The disk is full", "An import is stored whole or not at all, and says why."),
    Failure(
        10,
        "An upload is cut or stalls",
        "Nothing of it is stored, and its place is free again within 60 seconds.",
    ),
    Failure(
        11,
        "Many people submit at once, or one clicks twice",
        "Every pair closes exactly once; one label for a person and a run.",
    ),
    Failure(
        12, "Two adjudicators decide at once", "The first wins; the second is shown both texts."
    ),
    Failure(
        13,
        "A session ends while somebody writes",
        "The draft is kept, and no log-in form is put into the middle of a page.",
    ),
    Failure(
        14,
        "Clocks are wrong",
        "Leases follow the clock of the database, durations a clock that never steps.",
    ),
    Failure(
        15,
        "The database is migrated while people work",
        "The old code works on the new tables, and no lock lasts longer than 2 seconds.",
    ),
    Failure(16, "A run is very large", "It is imported within bounds of memory and time."),
    Failure(
        17,
        "Processes are replaced, storage is slow or gone, the broker is full",
        "Work is finished or handed back; errors are clear.",
    ),
)
