"""A small site in which people judge the same runs in two studies."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from judging.models import Dispute, Study, StudyMember
from judging.studies.disputes.services import decide
from runs.models import ImportJob, Run, User
from tests.judging.factories import make_dispute, make_study
from tests.judging.studies.blind_world import (
    World,
    hidden_run,
    judge_runs,
    make_batches,
    make_hints,
    make_knowledge,
    tell_failures,
)
from tests.runs.factories import make_run, make_user

PEOPLE = {"ann": "annotator", "bob": "annotator", "eve": "engineer", "judy": "adjudicator"}
FIRST, SECOND = "Garden", "Second opinion"


@dataclass
class Site:
    """The site, and what fills the addresses of its pages.

    Attributes:
        people: by name; everyone of whom the rules make use.
        runs: the two that are judged, and a rerun of the first.
    """

    world: World
    people: dict[str, User]
    runs: list[Run]

    def person(self, name: str) -> User:
        """The person as the next request finds them."""
        return User.objects.get(pk=self.people[name].pk)

    def filled_with(self) -> World:
        """What addresses are filled with at this moment: the latest dispute among them."""
        return replace(self.world, dispute=Dispute.objects.latest("pk"))


def make_site() -> Site:
    """Nobody has labelled anything of the two open studies yet."""
    people = {name: make_user(role, name) for name, role in PEOPLE.items()}
    ann, bob, eve, judy = people.values()
    other = make_user("engineer", "other")
    before = _decided_before(other)
    first, second = hidden_run("zq", "the run"), hidden_run("zd", "the other run")
    rerun = hidden_run("zq", "the rerun", rerun_of=first)
    # With a run that is open to everybody, the experiment has a page.
    make_run(pictures=False, experiment=first.experiment)
    words = {first: "zq", second: "zd", rerun: "zq"}
    garden = make_study(
        runs=[first, second],
        annotators=[ann, bob, eve],
        adjudicators=[judy],
        name=FIRST,
        repeat_share=0.5,
    )
    opinion = make_study(runs=[first], annotators=[ann, eve], adjudicators=[judy], name=SECOND)
    evaluator = judge_runs(words)
    tell_failures(words, other)
    picture = first.steps.get(index=0).screenshot
    assert picture is not None
    job = ImportJob.objects.create(
        created_by=other, file_name="runs.zip", path="x", size=1, state="finished"
    )
    world = World(
        run=first,
        disputed=second,
        rerun=rerun,
        study=garden,
        other_study=opinion,
        dispute=before,
        other_dispute=before,
        evaluator=evaluator,
        picture=picture,
        log=first.attachments.get().blob,
        job=job,
        annotator=ann,
        adjudicator=judy,
        engineer=eve,
        admin=other,
        stranger=bob,
        others=[_labeller_of(before)],
        batches=make_batches(garden, [first, second], evaluator),
        knowledge=make_knowledge({rerun: "zq", second: "zd"}),
        hints=make_hints({rerun: "zq", second: "zd"}),
    )
    return Site(world=world, people=people, runs=[first, second, rerun])


def _decided_before(judge: User) -> Dispute:
    """A dispute over another run, decided long ago, so that every address can be filled."""
    adjudicator = make_user("adjudicator", "long-ago")
    study = make_study(runs=1, adjudicators=[adjudicator], name="Before")
    dispute = make_dispute(study)
    decide(dispute=dispute, adjudicator=adjudicator, verdict="failure", rationale="x")
    return dispute


def _labeller_of(dispute: Dispute) -> User:
    return User.objects.filter(labels__item=dispute.item_id).earliest("pk")


def parts_of(user: User) -> Iterator[StudyMember]:
    """The person's parts in open studies, those that ended too: they may come back."""
    yield from user.study_parts.filter(study__is_open=True).select_related("study").order_by("pk")


def open_studies() -> list[Study]:
    """Those in which people label and decide."""
    return list(Study.objects.filter(is_open=True).order_by("pk"))
