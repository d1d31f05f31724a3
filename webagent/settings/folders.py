"""What the site keeps in its data directory before it has a database."""

import fcntl
import os
import secrets
from pathlib import Path

MIN_KEY_CHARS = 32


def make_folder(path: Path) -> Path:
    """The folder, made where it is missing.

    Raises:
        SystemExit: with one line, where nothing can be written there.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
        if not os.access(path, os.W_OK | os.X_OK):
            raise PermissionError(f"no permission to write to {str(path)!r}")
    except OSError as error:
        why = f"Crosscheck cannot start, DATA_DIR cannot be used: {error}"
        raise SystemExit(why) from None
    return path


def read_or_make_secret_key(path: Path) -> str:
    """The key kept in this file, readable by its owner only; made where there is none.

    Programs that start together wait for the one that makes it. What a crash left of a key (an
    empty file, say) is none.

    Raises:
        SystemExit: with one line, where the file can be neither read nor written.
    """
    try:
        with os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, 0o600), "r+") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            key = file.read().strip()
            if len(key) < MIN_KEY_CHARS:
                key = secrets.token_urlsafe(48)
                file.seek(0)
                file.truncate()
                file.write(key)
                file.flush()
                os.fsync(file.fileno())
    except OSError as error:
        raise SystemExit(f"Crosscheck cannot start without its secret key: {error}") from None
    return key
