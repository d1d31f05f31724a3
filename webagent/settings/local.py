"""The embedded default: one machine, SQLite, files, demo accounts."""

from webagent.settings.base import *  # noqa: F403 (how settings inherit)
from webagent.settings.base import DATA_DIR, ENV
from webagent.settings.files import read_or_make_secret_key

ALLOWS_DEMO = True
SECRET_KEY = ENV.SECRET_KEY or read_or_make_secret_key(DATA_DIR / "secret_key")
ALLOWED_HOSTS = ENV.ALLOWED_HOSTS or ["localhost", "127.0.0.1", "[::1]"]
# Static files are collected when the site is served, and stay as they are until it is again.
STATIC_ROOT = DATA_DIR / "static"
WHITENOISE_AUTOREFRESH = False
