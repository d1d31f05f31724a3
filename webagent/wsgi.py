"""WSGI entry point."""

import os

from django.core.wsgi import get_wsgi_application

from webagent.process.stack import in_one_chunk

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webagent.settings.local")
application = in_one_chunk(get_wsgi_application())
