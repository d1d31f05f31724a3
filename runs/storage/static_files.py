"""Styles and scripts under names that hold their hash, so that browsers may keep them for good."""

from django.contrib.staticfiles.apps import StaticFilesConfig
from whitenoise.storage import (  # type: ignore[import-untyped]  # it ships no types
    CompressedManifestStaticFilesStorage,
)


class OwnStaticFilesConfig(StaticFilesConfig):
    """Django's, without the extensions of htmx: no page uses them, and their imports are broken."""

    ignore_patterns = [*StaticFilesConfig.ignore_patterns, "hx-*"]  # noqa: RUF012 (as Django has it)


class HashedStaticFiles(CompressedManifestStaticFilesStorage):  # type: ignore[misc]  # untyped
    """Whitenoise's, that also rewrites the imports between modules, and does so with DEBUG too."""

    support_js_module_import_aggregation = True

    def url(self, name: str | None, force: bool = True) -> str:
        """The address with the hash, whether or not DEBUG is set."""
        return str(super().url(name, force=force))
