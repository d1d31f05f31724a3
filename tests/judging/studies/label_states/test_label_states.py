"""In no state that people can bring about does a page tell what they must judge for themselves."""

import os
from contextlib import ExitStack

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from judging.studies.labels import services as label_services
from tests.judging.studies.label_states.machine import EXAMPLES, LabelStates
from tests.judging.studies.label_states.planted import undo_at_any_time
from tests.judging.studies.label_states.site import SECOND

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.sqlite_only("test_blinding_urls.py reads every page on PostgreSQL"),
    pytest.mark.slow,
]

STEPS = int(os.environ.get("LABEL_STATES_STEPS", "4"))


def test_no_page_tells_anybody_what_they_still_judge() -> None:
    run_state_machine_as_test(
        LabelStates,
        settings=settings(
            max_examples=EXAMPLES or 2,
            stateful_step_count=STEPS,
            derandomize=not EXAMPLES,
            database=None,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            phases=[Phase.explicit, Phase.generate],
            report_multiple_bugs=False,
            print_blob=True,
        ),
    )


def test_it_finds_that_a_label_can_be_undone_that_told_the_others_verdict(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Planted: the label that completes a run can be undone within ten seconds."""
    machine = LabelStates()
    machine.addresses = ("judging:home", "judging:study_detail")
    with ExitStack() as stack:
        stack.callback(machine.teardown)
        machine.begin(given=[("ann", SECOND, "success"), ("eve", SECOND, "success")])
        machine.nobody_is_told_what_they_still_judge()
        monkeypatch.setattr(label_services, "undo_label", undo_at_any_time)
        machine.compared = None
        with pytest.raises(AssertionError, match="is told by"):
            machine.nobody_is_told_what_they_still_judge()
