"""Settings that all deployments share."""

import zoneinfo
from pathlib import Path
from typing import Any

import dj_database_url
from csp.constants import NONE, SELF
from django.utils.translation import gettext_lazy as _

from webagent.settings.environment import REPOSITORY, browsers_that_fit, read_environment
from webagent.settings.files import make_folder, picture_sources, storages

ENV = read_environment()
DATA_DIR = make_folder(ENV.DATA_DIR.expanduser().resolve())

DEBUG = False  # with it, every query would be kept, and on SQLite asked for once more
ALLOWS_DEMO = False
"""Whether accounts whose passwords everybody knows may be made."""
SECRET_KEY = ENV.SECRET_KEY or ""
ALLOWED_HOSTS = ENV.ALLOWED_HOSTS
CSRF_TRUSTED_ORIGINS = ENV.CSRF_TRUSTED_ORIGINS
ROOT_URLCONF = "webagent.urls"
WSGI_APPLICATION = "webagent.wsgi.application"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
AUTH_USER_MODEL = "runs.User"
LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "judging:home"
LOGOUT_REDIRECT_URL = "login"

INSTALLED_APPS = [
    "judging",
    "runs",
    # Features with commands of their own.
    *(f"judging.{name}" for name in ("analysis", "demo", "evaluating", "evaluators")),
    *(f"judging.{name}" for name in ("portability", "replication", "studies")),
    "runs.accounts",
    "runs.catalogue",
    "runs.exports",
    "runs.imports",
    "runs.knowledge",
    "runs.launching",
    "runs.operations",
    "runs.accounts.administration.AdministrationConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "runs.storage.static_files.OwnStaticFilesConfig",
    "django.contrib.humanize",
    "django_htmx",
    "django_filters",
    "django_tables2",
    "axes",
]

MIDDLEWARE = [
    "runs.operations.middleware.ActingMiddleware",
    "runs.operations.middleware.RequestLogMiddleware",
    "runs.operations.middleware.HeaderMiddleware",
    "runs.operations.middleware.ProbeMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "runs.operations.middleware.SessionCookieMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "runs.operations.middleware.FragmentLoginMiddleware",
    "django.contrib.auth.middleware.LoginRequiredMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "axes.middleware.AxesMiddleware",
    "runs.operations.middleware.OwnErrorPagesMiddleware",
]

AUTHENTICATION_BACKENDS = [
    "axes.backends.AxesStandaloneBackend",
    "runs.accounts.log_in.SpreadTriesBackend",
    "django.contrib.auth.backends.ModelBackend",
]
AXES_FAILURE_LIMIT = 10
AXES_COOLOFF_TIME = 0.25  # hours
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]
AXES_VERBOSE = False
AXES_LOCKOUT_CALLABLE = "runs.operations.error_views.locked_out"
AXES_ENABLE_ADMIN = False
# What comes while nobody may try is refused unread: it neither fills tables nor prolongs that.
AXES_RESET_COOL_OFF_ON_FAILURE_DURING_LOCKOUT = False
AXES_CLIENT_IP_CALLABLE = "runs.accounts.actors.client_address"
# So many reverse proxies of ours stand before the server; what others forward says nothing.
PROXIES = ENV.PROXIES
PASSWORD_HASHERS = [
    "django.contrib.auth.hashers.Argon2PasswordHasher",
    "django.contrib.auth.hashers.PBKDF2PasswordHasher",
]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {
        "NAME": "django.contrib.auth.password_validation.MinimumLengthValidator",
        "OPTIONS": {"min_length": 10},
    },
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "django.contrib.auth.password_validation.NumericPasswordValidator"},
    {"NAME": "runs.accounts.log_in.WrittenDown"},
]

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [REPOSITORY / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "runs.interface.requests.frame",
            ],
            "libraries": {
                "interface": "runs.interface.words",
                "table_rows": "runs.interface.table_rows",
            },
        },
    }
]

FORM_RENDERER = "runs.interface.form_inputs.InputRenderer"

# Nothing inline, nothing from elsewhere, on any page.
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF, *picture_sources(ENV)],
        "font-src": [SELF],
        "connect-src": [SELF],
        "manifest-src": [SELF],
        "base-uri": [NONE],
        "form-action": [SELF],
        "frame-ancestors": [NONE],
    }
}
X_FRAME_OPTIONS = "DENY"
SECURE_REFERRER_POLICY = "same-origin"
SESSION_COOKIE_HTTPONLY = True
CSRF_COOKIE_SAMESITE = SESSION_COOKIE_SAMESITE = "Lax"
MESSAGE_STORAGE = "django.contrib.messages.storage.session.SessionStorage"
CSRF_FAILURE_VIEW = "runs.operations.error_views.csrf_failure"


DATABASE_ENGINES = ("django.db.backends.postgresql", "django.db.backends.sqlite3")


def database(url: str | None, data_dir: Path) -> dict[str, Any]:
    """Connection settings: PostgreSQL by URL, else SQLite in the data directory.

    SQLite runs in WAL with immediate transactions, so that readers never wait for the one
    writer and two writers queue instead of failing half-way.

    Raises:
        ValueError: the URL is none, or of another database.
    """
    config: dict[str, Any] = dict(
        dj_database_url.parse(url or f"sqlite:///{data_dir / 'crosscheck.sqlite3'}")
    )
    if config["ENGINE"] not in DATABASE_ENGINES:
        raise ValueError("must be like postgresql://user:password@host/name, or sqlite:///path")
    if config["ENGINE"].endswith("sqlite3"):
        config["OPTIONS"] = {
            "transaction_mode": "IMMEDIATE",
            "timeout": 20,
            "init_command": (
                "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA foreign_keys=ON;"
                # REPLACE asks the triggers of DELETE too, by which ended runs are kept.
                " PRAGMA recursive_triggers=ON;"
                # In KiB: rows of one page that lie far apart among many, which 2 MB do not hold.
                " PRAGMA cache_size=-16000;"
            ),
        }
    # A new connection costs SQLite 2 ms of processor: it reads the whole schema.
    config["CONN_MAX_AGE"] = 60
    config["CONN_HEALTH_CHECKS"] = True
    return config


try:
    DATABASES = {"default": database(ENV.DATABASE_URL, DATA_DIR)}
except (ValueError, dj_database_url.ParseError) as error:
    raise SystemExit(f"Crosscheck cannot start, DATABASE_URL is wrong: {error}") from None
try:
    zoneinfo.ZoneInfo(ENV.TIME_ZONE)
except (zoneinfo.ZoneInfoNotFoundError, ValueError):
    raise SystemExit(
        f"Crosscheck cannot start, TIME_ZONE is no time zone: {ENV.TIME_ZONE!r}"
    ) from None

STORAGES = storages(ENV, DATA_DIR)
STATIC_URL = "/static/"
STATIC_ROOT = REPOSITORY / "staticfiles"
STATICFILES_DIRS = [REPOSITORY / "static"]
UPLOAD_DIR = DATA_DIR / "uploads"
FILE_UPLOAD_TEMP_DIR = DATA_DIR / "tmp"
FILE_UPLOAD_HANDLERS = [
    "runs.api.bodies.BoundedUploadHandler",
    "django.core.files.uploadhandler.MemoryFileUploadHandler",
    "django.core.files.uploadhandler.TemporaryFileUploadHandler",
]
make_folder(UPLOAD_DIR)
make_folder(FILE_UPLOAD_TEMP_DIR)

LANGUAGE_CODE = ENV.LANGUAGE
LANGUAGES = [("en", _("English")), ("ja", _("Japanese"))]
LOCALE_PATHS = [REPOSITORY / "locale"]
FORMAT_MODULE_PATH = "webagent.settings.formats"
TIME_ZONE = ENV.TIME_ZONE
USE_TZ = True

# The database is the queue of record; a message only says "look at this row".
QUEUE_APP = "webagent.celery"
QUEUE_DIR = make_folder(DATA_DIR / "queue")
CELERY_BROKER_URL = ENV.REDIS_URL or "filesystem://localhost"
# Redis that has no room answers so; a worker that had a message in hand would end by it.
CELERY_BROKER_CHANNEL_ERROR_RETRY = True
CELERY_BROKER_TRANSPORT_OPTIONS: dict[str, Any] = {
    "socket_connect_timeout": 3,
    # A broker whose machine is gone says nothing any more; who waits for it is to notice.
    "socket_keepalive": True,
}
if not ENV.REDIS_URL:
    CELERY_BROKER_TRANSPORT = "runs.queue.file_broker:FileTransport"
    for name in ("messages", "control"):
        make_folder(QUEUE_DIR / name)
    CELERY_BROKER_TRANSPORT_OPTIONS = {
        "data_folder_in": str(QUEUE_DIR / "messages"),
        "data_folder_out": str(QUEUE_DIR / "messages"),
        "control_folder": str(QUEUE_DIR / "control"),
        "store_processed": False,
        # Somebody waits for a run: one look into a folder costs next to nothing.
        "polling_interval": 0.1,
    }
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
# A worker is one process that takes one task after the other. In a pool of processes that share a
# queue, one that is killed while it waits may take the queue's lock with it, and all others wait.
CELERY_WORKER_POOL = "solo"
CELERY_WORKER_CONCURRENCY = 1
# Nobody asks workers anything: they say in the database how they are.
CELERY_WORKER_ENABLE_REMOTE_CONTROL = False
BROWSERS = ENV.BROWSERS or browsers_that_fit()
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_TASK_DEFAULT_QUEUE = "default"
# All background tasks, so that Celery and the sweep know them.
CELERY_IMPORTS = (
    "judging.analysis.milestone_proposals.services",
    "judging.analysis.miniwob.services",
    "judging.demo.loading",
    "judging.evaluating.tasks",
    "judging.portability.label_imports.services",
    "judging.portability.study_report.downloads",
    "judging.replication.work",
    "runs.api.idempotency",
    "runs.imports.importing",
    "runs.imports.thumbnailing",
    "runs.knowledge.hints.writing",
    "runs.knowledge.learning",
    "runs.knowledge.web.jobs",
    "runs.launching.running",
    "runs.launching.experiments.starting",
    "runs.operations.space.measuring",
    "runs.queue.sweeping",
)
CELERY_TASK_ROUTES = {
    "runs.tasks.execute_next_run": {"queue": "browser"},
    "judging.tasks.evaluate_batch": {"queue": "judge"},
}
# Between two machines, at most. Messages carry the time at which they are void.
CLOCKS_DIFFER_S = 900
# Where the sites are that tasks name by placeholders such as __REDDIT__.
SITE_HOSTS = ENV.SITE_HOSTS
# What stands behind the map, so that it can be asked whether it is ready.
MAP_BACKENDS = ENV.MAP_BACKENDS

DJANGO_TABLES2_TEMPLATE = "_fragments/table.html"
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "lines": {
            "()": "webagent.process.logs.LineFormatter",
            "format": "{levelname} {name}: {message}",
            "style": "{",
        },
        "json": {"()": "webagent.process.logs.JsonLineFormatter"},
    },
    "filters": {"without_probes": {"()": "webagent.process.logs.WithoutProbes"}},
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "lines"}},
    "root": {"handlers": ["console"], "level": ENV.LOG_LEVEL or "WARNING"},
    # Pages that were not found or not allowed are nobody's trouble but the visitor's.
    "loggers": {"django.request": {"level": "ERROR", "filters": ["without_probes"]}},
}
