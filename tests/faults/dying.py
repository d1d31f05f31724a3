"""A process that takes in a file and dies: `python -m tests.faults.dying WHEN USER FILE`.

WHEN is `before commit`, or `before telling`: after the row is there, before a worker is told of it.
"""

import os
import signal
import sys
from pathlib import Path

import django


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def main(when: str, username: str, path: Path) -> None:
    django.setup()
    from django.core.files.uploadedfile import SimpleUploadedFile
    from django.db import transaction

    from runs.imports import services as uploads
    from runs.models import User

    user = User.objects.get(username=username)
    file = SimpleUploadedFile(path.name, path.read_bytes(), "application/zip")
    vars(uploads)["dispatch_imports"] = die
    with transaction.atomic():
        uploads.start_import(file=file, user=user, format="auto")
        if when == "before commit":
            die()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]))
