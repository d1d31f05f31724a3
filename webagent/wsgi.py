"""WSGI entry point."""

import gc
import os

from django.core.wsgi import get_wsgi_application

from webagent.process.children import in_one_chunk

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webagent.settings.local")
# As manage.py does: most of what an answer makes goes by itself.
gc.set_threshold(20_000)
application = in_one_chunk(get_wsgi_application())
