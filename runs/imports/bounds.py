"""How much an import may hold."""

from django.conf import settings

from webagent.trajectory.intake import Bounds


def import_bounds() -> Bounds:
    """Bounds with everything that the environment may set; the rest keeps its default."""
    env = settings.ENV
    return Bounds(
        upload_bytes=env.IMPORT_MAX_UPLOAD_BYTES,
        total_bytes=env.IMPORT_MAX_UNPACKED_BYTES,
        members=env.IMPORT_MAX_MEMBERS,
        ratio=env.IMPORT_MAX_RATIO,
        image_pixels=env.IMPORT_MAX_PIXELS,
        json_depth=env.IMPORT_MAX_JSON_DEPTH,
        text_chars=env.IMPORT_MAX_TEXT_CHARS,
        steps_per_run=env.IMPORT_MAX_STEPS,
        pickle_bytes=env.IMPORT_MAX_PICKLE_BYTES,
        pickle_seconds=env.IMPORT_MAX_FILE_SECONDS,
    )
