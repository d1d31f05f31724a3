import threading

import pytest

from webagent.environment.own_thread import OwnThread, StillRunning


def test_all_calls_run_in_one_other_thread():
    thread = OwnThread("test")
    places = {thread.call(threading.get_ident, 5) for _ in range(3)}
    assert len(places) == 1
    assert threading.get_ident() not in places
    assert thread.stop(5)


def test_what_a_call_raises_is_raised_and_the_thread_goes_on():
    thread = OwnThread("test")

    def fail() -> None:
        raise TimeoutError("the call's own")

    with pytest.raises(TimeoutError, match="own"):
        thread.call(fail, 5)
    assert thread.call(lambda: 3, 5) == 3
    assert thread.stop(5)


def test_a_call_that_hangs_is_given_up_and_the_next_has_its_turn_after_it():
    thread = OwnThread("test")
    go_on = threading.Event()
    with pytest.raises(StillRunning):
        thread.call(go_on.wait, 0.05)
    assert not thread.stop(0.05)
    go_on.set()
    assert thread.stop(5)


def test_stopping_before_any_call_is_no_trouble():
    assert OwnThread("test").stop(1)
