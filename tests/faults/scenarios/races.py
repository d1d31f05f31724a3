"""People who act at the same moment, over HTTP, on the real web server."""

import random
import secrets
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from judging.models import Dispute, Label, ReferenceVerdict, Study, StudyItem
from runs.models import User
from tests.faults.aftermath import what_is_wrong
from tests.faults.findings import Findings
from tests.faults.history import Afterwards, Answer, History, Kind
from tests.faults.scenarios import Place, Scenario
from tests.faults.web import Reply, Visitor, Web, form_value
from tests.judging.factories import adjudicators_of, make_label, make_study
from tests.runs.factories import make_run, make_user
from tests.runs.live_workers import Site

CROWD = 50


def at_once(*requests: Callable[[], Reply]) -> list[Reply]:
    """The replies to requests made at the same moment."""
    replies: list[Reply | None] = [None] * len(requests)
    barrier = threading.Barrier(len(requests))

    def send(number: int) -> None:
        barrier.wait()
        replies[number] = requests[number]()

    threads = [threading.Thread(target=send, args=[number]) for number in range(len(requests))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert None not in replies, "a request got no answer"
    return [reply for reply in replies if reply]


@contextmanager
def served(place: Place) -> Iterator[tuple[Site, Web]]:
    """A site with its web server."""
    with place.site() as site:
        web = Web(site)
        web.start()
        try:
            web.wait()
            yield site, web
        finally:
            web.kill()


def crowd(place: Place, times: int, findings: Findings) -> None:
    """Fifty people submit at the same moment, each twice, so that every pair is completed."""
    with served(place) as (site, web):
        people = [make_user("annotator") for _ in range(CROWD)]
        history, findings.times = History(), 0
        for _ in range(times):
            study = _study(CROWD // 2, annotators=people)
            findings.times += _submit_all(study, [Visitor(web.port, p) for p in people], history)
            findings.complain(not_closed_once(study))
        values: dict[str, list[str]] = {}
        for item, person, said in Label.objects.values_list("item", "annotator", "rationale"):
            values.setdefault(f"{item} {person}", []).append(said)
        findings.compare(history, Afterwards(values))
        findings.complain(what_is_wrong(site.data_dir))
    findings.check()


def _study(runs: int, *, annotators: Sequence[User], adjudicators: Sequence[User] = ()) -> Study:
    rows = [
        make_run(steps=1, pictures=False, content_hash=secrets.token_hex(32)) for _ in range(runs)
    ]
    return make_study(runs=rows, annotators=annotators, adjudicators=adjudicators)


def _submit_all(study: Study, people: list[Visitor], history: History) -> int:
    """Everybody opens the page; then all send their form twice. How many forms were sent."""
    address = f"/studies/{study.pk}/annotate/"
    calls, requests = [], []
    for person in people:
        page = person.get(address).body
        place = form_value(page, "assignment")
        said = secrets.token_hex(8)
        fields = {"assignment": place, "key": form_value(page, "key"), "rationale": said}
        fields["success"] = random.choice(["success", "failure"])
        item = StudyItem.objects.get(assignments=int(place))
        assert person.user is not None
        for _ in range(2):
            key = f"{item.pk} {person.user.pk}"
            calls.append(history.ask(str(person.user), Kind.ADD, key, said))
            requests.append(lambda p=person, f=fields: p.post(address, f))
    for call, reply in zip(calls, at_once(*requests), strict=True):
        done = reply.status == 302 and reply.location == address
        unknown = Answer.UNKNOWN if reply.status >= 500 else Answer.REFUSED
        history.answer(call, Answer.DONE if done else unknown)
    return len(requests)


def not_closed_once(study: Study) -> list[str]:
    """Pairs that did not become exactly one reference verdict or exactly one dispute."""
    found = []
    for item in study.items.prefetch_related("labels"):
        said = {label.success for label in item.labels.all()}
        n_verdicts = ReferenceVerdict.objects.filter(item=item).count()
        n_disputes = Dispute.objects.filter(item=item).count()
        wanted = (1, 0) if len(said) == 1 else (0, 1)
        if (item.n_labels, n_verdicts, n_disputes) != (2, *wanted):
            found.append(
                f"item {item.pk} has {item.n_labels} labels, {n_verdicts} verdicts,"
                f" {n_disputes} disputes"
            )
    return found


def adjudicators(place: Place, times: int, findings: Findings) -> None:
    """Two adjudicators decide the same dispute at the same moment, each in their own words."""
    with served(place) as (site, web):
        people = [make_user("annotator") for _ in range(2)]
        judges = [make_user("adjudicator") for _ in range(2)]
        study = _study(times, annotators=people, adjudicators=judges)
        visitors = [Visitor(web.port, judge) for judge in adjudicators_of(study)]
        history, values = History(), {}
        for item in study.items.all():
            for person, said in zip(people, ("success", "failure"), strict=True):
                make_label(item, person, said)
            dispute = Dispute.objects.get(item=item)
            findings.complain(_race(dispute, visitors, history))
            verdicts = ReferenceVerdict.objects.filter(item=item)
            values[f"dispute {dispute.pk}"] = list(verdicts.values_list("rationale", flat=True))
        findings.times = times
        findings.compare(history, Afterwards(values))
        findings.complain(what_is_wrong(site.data_dir))
    findings.check()


def _race(dispute: Dispute, visitors: list[Visitor], history: History) -> list[str]:
    """Both decide; what was wrong with what they were told."""
    texts = [f"I say {verdict} {secrets.token_hex(4)}" for verdict in ("success", "failure")]
    key = f"dispute {dispute.pk}"
    calls = [
        history.ask(str(visitor.user), Kind.FIRST, key, text)
        for visitor, text in zip(visitors, texts, strict=True)
    ]
    replies = at_once(
        *[
            lambda v=visitor, t=text, s=success: v.post(
                f"/disputes/{dispute.pk}/decide/", {"verdict": s, "rationale": t, "version": 0}
            )
            for visitor, text, success in zip(visitors, texts, ("success", "failure"), strict=True)
        ]
    )
    for call, reply in zip(calls, replies, strict=True):
        history.answer(call, Answer.DONE if reply.status == 302 else Answer.REFUSED)
    if sorted(reply.status for reply in replies) != [302, 409]:
        return [f"{key}: answered {[reply.status for reply in replies]}"]
    (late,) = [reply for reply in replies if reply.status == 409]
    return [f"{key}: the second is not shown {text!r}" for text in texts if text not in late.body]


RACES = (
    Scenario(
        "fifty annotators at once",
        11,
        "fifty people submit at the same moment, each of them twice",
        10,
        crowd,
    ),
    Scenario(
        "two adjudicators at once",
        12,
        "two adjudicators decide the same dispute at the same moment",
        100,
        adjudicators,
    ),
)
