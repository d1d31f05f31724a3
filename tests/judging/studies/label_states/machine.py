"""People label, skip, leave, discuss and decide, in any order; after every act nobody knows more.

A state machine of Hypothesis. Each of its rules is what one person does, or what time does. After
every one of them, whoever can still give or revise a label reads every page of the site, and of its
twin, in which all that must be hidden from them says the opposite: the answers are the same.
"""

import io
import os
import random
from contextlib import ExitStack
from datetime import timedelta
from typing import Any
from unittest.mock import patch

from django.contrib.auth.models import Group
from django.contrib.contenttypes.models import ContentType
from django.utils import timezone
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from judging.models import (
    Assignment,
    Dispute,
    DisputeMessage,
    Label,
    LabelRevision,
    ReferenceVerdict,
    Study,
    StudyItem,
    StudyMember,
)
from judging.models.labels import UNDO_GRACE_S, UNDO_S
from judging.portability.judgements.label_files import import_labels
from judging.studies.access import record_unblinding
from judging.studies.blinding import disputes_open_to
from judging.studies.disputes.services import DisputeError, add_message, decide
from judging.studies.labels import services as label_services
from judging.studies.labels.assignment import NotAssignableError, lease_length, reassign, skip
from judging.studies.labels.services import LabelRefusedError, submit_label
from judging.studies.services import MemberError, close_study, remove_member, set_member
from runs.models import Run, User
from runs.models.triggers import remove_guards
from tests.judging.factories import make_study, make_submission, next_assignment
from tests.judging.studies.blind_world import hidden_run
from tests.judging.studies.label_states.comparing import ALL, OF_JUDGING, Reader, differing_pages
from tests.judging.studies.label_states.site import FIRST, PEOPLE, SECOND, make_site, open_studies
from tests.judging.studies.statements import undone

EXAMPLES = int(os.environ.get("LABEL_STATES_EXAMPLES", "0"))
"""Sequences of acts that are drawn anew; without it, the same few are tried every time, in which
nobody reads all addresses: `test_blinding_urls.py` does.
"""
STATE = (StudyItem, Assignment, Label, LabelRevision, Dispute, DisputeMessage, StudyMember, Run)
people = st.sampled_from(sorted(PEOPLE))
labellers = st.sampled_from(["ann", "bob", "eve"])
studies = st.sampled_from([FIRST, SECOND])
verdicts = st.sampled_from(["success", "success", "failure", "unsure"])
pairs = st.sampled_from([("ann", "bob"), ("ann", "eve"), ("bob", "eve")])
decisions = st.sampled_from(ReferenceVerdict.Verdict.values)


class LabelStates(RuleBasedStateMachine):
    """One site from its first label on, at a clock of its own; it is gone afterwards.

    Attributes:
        addresses: that are read after every act.
        compared: the state that was compared last.
    """

    addresses: tuple[str, ...] = OF_JUDGING
    compared: object = None

    def __init__(self) -> None:
        super().__init__()
        with ExitStack() as held:
            held.enter_context(undone())
            self.now, self.n_waits = timezone.now(), 0
            held.enter_context(patch.object(timezone, "now", lambda: self.now))
            # Rows are picked in the order of their keys: the same acts, the same keys.
            held.enter_context(patch.object(os, "urandom", random.Random(0).randbytes))
            ContentType.objects.clear_cache()
            remove_guards()  # the twin is made out of the site itself, finished runs and all
            self.site = make_site()
            self.readers = {name: Reader(user) for name, user in self.site.people.items()}
            self._held = held.pop_all()

    def teardown(self) -> None:
        self._held.close()

    def someone(self, name: str) -> User:
        self.now += timedelta(seconds=1)
        return self.site.person(name)

    @initialize(given=st.lists(st.tuples(labellers, studies, verdicts), max_size=6))
    def begin(self, given: list[tuple[str, str, str]]) -> None:
        """Some labels are there already."""
        for name, study, says in given:
            self.label(name=name, study=study, says=says)

    @rule(name=labellers, study=studies)
    def take(self, name: str, study: str) -> None:
        next_assignment(study=Study.objects.get(name=study), user=self.someone(name))

    @rule(name=labellers, study=studies, says=verdicts)
    def label(self, name: str, study: str, says: str) -> None:
        """Take the next run and label it, or finish what is in hand."""
        user = self.someone(name)
        assignment = next_assignment(study=Study.objects.get(name=study), user=user)
        if assignment is not None:
            self._submit(assignment, user, says)

    @rule(name=labellers, at=st.integers(0, 9), says=verdicts)
    def send_old_form(self, name: str, at: int, says: str) -> None:
        """Of any assignment they ever had: in a tab that was left open."""
        user = self.someone(name)
        if assignment := _one_of(Assignment.objects.filter(user=user), at):
            self._submit(assignment, user, says)

    @rule(name=labellers, at=st.integers(0, 9), says=verdicts)
    def change(self, name: str, at: int, says: str) -> None:
        user = self.someone(name)
        if label := _one_of(Label.objects.filter(annotator=user).with_version(), at):
            own = Assignment.objects.filter(item=label.item, user=user, is_repeat=label.is_repeat)
            # A label that an import brought was never handed out.
            for assignment in own:
                self._submit(assignment, user, says, version=label.version)

    def _submit(self, assignment: Assignment, user: User, says: str, **more: Any) -> None:
        sent = make_submission(says, rationale=f"{user} says {says}", **more)
        try:
            submit_label(assignment=assignment, user=user, submission=sent)
        except LabelRefusedError:
            return

    @rule(name=labellers)
    def undo(self, name: str) -> None:
        user = self.someone(name)
        label = Label.objects.filter(annotator=user).order_by("-submitted_at").first()
        try:
            if label:
                label_services.undo_label(label=label, user=user)
        except LabelRefusedError:
            return

    @rule(name=labellers, at=st.integers(0, 9))
    def skip(self, name: str, at: int) -> None:
        user = self.someone(name)
        held = Assignment.objects.filter(user=user, state=Assignment.State.LEASED)
        if assignment := _one_of(held, at):
            skip(assignment=assignment, user=user, reason=f"{name} cannot see it")

    @rule(name=labellers, at=st.integers(0, 9))
    def take_up(self, name: str, at: int) -> None:
        user = self.someone(name)
        if assignment := _one_of(Assignment.objects.filter(user=user), at):
            item = assignment.item
            try:
                reassign(study=item.study, user=user, item=item)
            except NotAssignableError:
                return

    @rule(seconds=st.sampled_from([UNDO_S + UNDO_GRACE_S + 1, lease_length().total_seconds() + 1]))
    def wait(self, seconds: float) -> None:
        """Until no label can be undone, or until every lease has run out."""
        self.now += timedelta(seconds=seconds)
        self.n_waits += 1

    @rule(name=people, study=studies)
    def leave(self, name: str, study: str) -> None:
        remove_member(study=Study.objects.get(name=study), user=self.someone(name))

    @rule(name=people, study=studies, part=st.sampled_from(StudyMember.Part.values))
    def join(self, name: str, study: str, part: str) -> None:
        """For the first time, again, or in another part."""
        try:
            set_member(
                study=Study.objects.get(name=study),
                user=self.someone(name),
                part=StudyMember.Part(part),
            )
        except MemberError:
            return

    @rule(name=people, role=st.sampled_from(["engineer", "adjudicator"]), has=st.booleans())
    def change_role(self, name: str, role: str, has: bool) -> None:
        groups = self.someone(name).groups
        change = groups.add if has else groups.remove
        change(Group.objects.get(name=role))

    @precondition(lambda self: Dispute.objects.waiting().exists())
    @rule(name=people, at=st.integers(0, 9), verdict=decisions, decides=st.booleans())
    def discuss(self, name: str, at: int, verdict: str, decides: bool) -> None:
        """Open a dispute, as far as the person may, and propose or decide."""
        user = self.someone(name)
        dispute = _one_of(disputes_open_to(user).waiting(), at)
        if dispute is None:
            return
        record_unblinding(user=user, item=dispute.item, reason="dispute")
        try:
            if decides:
                decide(dispute=dispute, adjudicator=user, verdict=verdict, rationale="I looked")
            else:
                add_message(dispute=dispute, author=user, text="I looked", proposal=verdict)
        except DisputeError:
            return

    @rule(of=st.integers(0, 1))
    def rerun(self, of: int) -> None:
        run = self.site.runs[of]
        number = len(self.site.runs)
        self.site.runs.append(hidden_run(("zq", "zd")[of], f"rerun {number}", rerun_of=run))

    @precondition(lambda self: Study.objects.filter(is_open=True).count() <= 2)
    @rule(of=st.integers(0, 2), by=pairs)
    def make_another_study(self, of: int, by: tuple[str, str]) -> None:
        """Of a run that is being judged, or was, or of its rerun."""
        make_study(
            runs=[self.site.runs[of]],
            annotators=[self.someone(name) for name in by],
            hides_identity=True,
        )

    @rule(of=st.integers(0, 1), says=st.tuples(verdicts, verdicts))
    def import_labels(self, of: int, says: tuple[str, str]) -> None:
        """Of people elsewhere, one of whom has an account here."""
        run = self.site.runs[of]
        lines = [f"{run.pk},{who},{word}" for who, word in zip(("ann", "zoe"), says, strict=True)]
        table = "\n".join(["run_id,annotator,verdict", *lines])
        import_labels(io.BytesIO(table.encode()), study=f"Elsewhere {run.goal}")

    @precondition(lambda self: len(open_studies()) > 1)
    @rule(study=studies)
    def close(self, study: str) -> None:
        self.now += timedelta(seconds=1)
        close_study(study=Study.objects.get(name=study))

    @precondition(lambda self: EXAMPLES > 0)
    @rule(name=people)
    def read_everything(self, name: str) -> None:
        self._compare(name, ALL)

    @invariant()
    def nobody_is_told_what_they_still_judge(self) -> None:
        if self.compared != (state := self._state()):
            self.compared = state
            for name in self.readers:
                self._compare(name, self.addresses)

    def _compare(self, name: str, addresses: tuple[str, ...]) -> None:
        user = self.site.person(name)
        told = differing_pages(self.site, user, self.readers[name], addresses)
        assert not told, f"{name} is told by {told}"

    def _state(self) -> object:
        """All that people did; and what can be undone no more, or is held no more."""
        rows = [list(model.objects.order_by("pk").values_list()) for model in STATE]
        roles = list(User.objects.order_by("pk").values_list("pk", "groups"))
        return rows, roles, self.n_waits


def _one_of(rows: Any, at: int) -> Any:
    """One of the rows, by a number; None where there are none."""
    found = list(rows.order_by("pk"))
    return found[at % len(found)] if found else None
