"""The Celery application: carries ids of rows, never their content."""

import os

from celery import Celery
from kombu.transport import TRANSPORT_ALIASES

# By name and not by setting: addresses keep their meaning, such as rediss:// that of encryption.
TRANSPORT_ALIASES.update(
    dict.fromkeys(("redis", "rediss"), "runs.queue.redis_broker:RedisTransport")
)

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webagent.settings.local")

app = Celery("crosscheck")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.set_default()  # in every thread: the web server has several
