"""Behind TLS, on PostgreSQL and Redis. `check --deploy` is clean with these."""

from webagent.settings.base import *  # noqa: F403 (how settings inherit)
from webagent.settings.base import ENV, LOGGING

for name in ("SECRET_KEY", "DATABASE_URL", "REDIS_URL", "ALLOWED_HOSTS"):
    if not getattr(ENV, name):
        raise SystemExit(f"Crosscheck cannot start, {name} must be set in production")

SECURE_SSL_REDIRECT = True
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
SECURE_HSTS_SECONDS = 31_536_000
SECURE_HSTS_INCLUDE_SUBDOMAINS = True
SECURE_HSTS_PRELOAD = True
SESSION_COOKIE_SECURE = True
CSRF_COOKIE_SECURE = True
# One JSON object a line, for whatever gathers logs.
LOGGING = LOGGING | {
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "json"}},
    "root": {"handlers": ["console"], "level": ENV.LOG_LEVEL or "INFO"},
}
