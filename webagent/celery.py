"""The Celery application: carries ids of rows, never their content."""

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webagent.settings.local")

app = Celery("crosscheck")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
app.set_default()  # in every thread: the web server has several
