import asyncio
import threading

import pytest

from webagent.environment.browsergym_browsers import start_driver, stop_playwright
from webagent.process.children import OwnThread, StillRunning, forget_foreign_loop


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


@pytest.mark.slow
def test_a_call_of_playwrights_from_another_thread_leaves_no_event_loop_behind():
    thread = OwnThread("test")
    started = thread.call(start_driver, 30)
    with pytest.raises(Exception, match="different thread"):
        started.request.new_context()
    assert forget_foreign_loop()
    assert asyncio._get_running_loop() is None
    assert not forget_foreign_loop()
    thread.call(stop_playwright, 30)
    assert thread.stop(5)


def test_an_event_loop_of_this_thread_stays():
    async def forgets() -> bool:
        return forget_foreign_loop() or asyncio.get_running_loop() is None

    assert not asyncio.run(forgets())
