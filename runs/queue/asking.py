"""Messages that a sweep sends again anyway: whoever asks does not depend on them."""

from __future__ import annotations

from celery import current_app
from django.conf import settings
from kombu.exceptions import OperationalError


def ask_for(task: str) -> bool:
    """Have the task carried out soon; False without a broker.

    One that no worker took meanwhile is void, for the next one has been sent by then.
    """
    void_after_s = settings.ENV.LEASE_S + settings.CLOCKS_DIFFER_S
    try:
        current_app.send_task(task, queue="default", retry=False, expires=void_after_s)
    except OperationalError:
        return False
    return True
