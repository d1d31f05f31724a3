"""For the test suite: the embedded default in a throw-away data directory."""

import os
import tempfile

os.environ.setdefault("DATA_DIR", tempfile.mkdtemp(prefix="crosscheck-test-"))

from webagent.settings.base import *  # noqa: E402, F403 (after DATA_DIR is set; settings are stars)
from webagent.settings.base import DATA_DIR, DATABASES  # noqa: E402 (after DATA_DIR is set)

DEBUG = False
SECRET_KEY = "only-for-the-test-suite-and-nowhere-else"  # noqa: S105 (guards nothing)
ALLOWED_HOSTS = ["*"]
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
WHITENOISE_USE_FINDERS = True
# A file is looked for when it is asked for; else every test client reads them all.
WHITENOISE_AUTOREFRESH = True
AXES_ENABLED = False
STATIC_ROOT = DATA_DIR / "static"
STATIC_ROOT.mkdir(exist_ok=True)

if DATABASES["default"]["ENGINE"].endswith("sqlite3"):
    # A file, as in earnest: the database in memory locks tables where a file waits its turn.
    DATABASES["default"]["TEST"] = {"NAME": str(DATA_DIR / "test.sqlite3")}
