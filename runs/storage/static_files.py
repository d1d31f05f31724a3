"""Styles and scripts under names that hold their hash, so that browsers may keep them for good."""

import json
from hashlib import sha256
from pathlib import Path

from django.conf import settings
from django.contrib.staticfiles.apps import StaticFilesConfig
from django.contrib.staticfiles.finders import get_finders
from django.core.management import call_command
from whitenoise.storage import CompressedManifestStaticFilesStorage  # type: ignore[import-untyped]  # it ships no types


class OwnStaticFilesConfig(StaticFilesConfig):
    """Django's, without the extensions of htmx: no page uses them, and their imports are broken."""

    ignore_patterns = [*StaticFilesConfig.ignore_patterns, "hx-*"]


class HashedStaticFiles(CompressedManifestStaticFilesStorage):  # type: ignore[misc]  # untyped
    """Whitenoise's, that also rewrites the imports between modules, and does so with DEBUG too."""

    support_js_module_import_aggregation = True

    def url(self, name: str | None, force: bool = True) -> str:
        """The address with the hash, whether or not DEBUG is set."""
        return str(super().url(name, force=force))


def collect_static_files() -> None:
    """Put them where they are served from, unless none has changed since the last time."""
    stamp = Path(settings.STATIC_ROOT) / ".collected"
    now = _state_of_sources()
    if not stamp.is_file() or stamp.read_text() != now:
        call_command("collectstatic", interactive=False, verbosity=0)
        stamp.write_text(now)


def _state_of_sources() -> str:
    """A hash over names, sizes and times of all sources."""
    files = [
        (path, stat.st_size, stat.st_mtime_ns)
        for finder in get_finders()
        for path, storage in finder.list(StaticFilesConfig.ignore_patterns)
        for stat in (Path(storage.path(path)).stat(),)
    ]
    return sha256(json.dumps(sorted(files)).encode()).hexdigest()
