"""For the test suite: the embedded default in a throw-away data directory."""

import atexit
import os
import shutil
import tempfile


def _remove(folder: str, maker: int) -> None:
    """Remove the folder at the end of the process that made it, not at that of its children."""
    if os.getpid() == maker:
        shutil.rmtree(folder, ignore_errors=True)


if "DATA_DIR" not in os.environ:
    os.environ["DATA_DIR"] = tempfile.mkdtemp(prefix="crosscheck-test-")
    atexit.register(_remove, os.environ["DATA_DIR"], os.getpid())

from webagent.settings.base import *  # noqa: E402, F403 (after DATA_DIR is set; settings are stars)
from webagent.settings.base import DATA_DIR, DATABASES, STORAGES  # noqa: E402 (after DATA_DIR is set)

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
STORAGES = STORAGES | {
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}
}

if DATABASES["default"]["ENGINE"].endswith("sqlite3"):
    # A file, as in earnest: the database in memory locks tables where a file waits its turn.
    DATABASES["default"]["TEST"] = {"NAME": str(DATA_DIR / "test.sqlite3")}
