"""Where imported labels and adjudications lie: closed studies, marked as imported."""

from __future__ import annotations

from django.contrib.auth.models import AbstractUser

from judging.models import Study, StudyItem
from runs.models import Run, User

UNNAMED = "Imported labels"
"""The study of labels that name none."""
IMPORTED = "imported"
"""Key in `Study.run_filter` that marks a study made by an import."""
NAME_CHARS = 200
USERNAME_CHARS = 150
NOT_ENTERED = "the study is kept here, and imports do not enter it"


def study_name(name: str | None) -> str:
    """The name that a study of this name in a file has here."""
    return (name or UNNAMED)[:NAME_CHARS]


def imported_item(name: str | None, run: Run) -> StudyItem | None:
    """The run's place in the imported study of that name; None if a study here has the name."""
    study, _ = Study.objects.get_or_create(
        name=study_name(name), defaults={"is_open": False, "run_filter": {IMPORTED: True}}
    )
    if not study.run_filter.get(IMPORTED):
        return None
    item, _ = StudyItem.objects.select_related("study").get_or_create(
        study=study, run=run, defaults={"position": study.items.count() + 1}
    )
    return item


def person(name: str) -> User:
    """The account of that name; if there is none, one that nobody can log in to."""
    username = AbstractUser.normalize_username(name)[:USERNAME_CHARS]
    user = User.objects.filter(username=username).first()
    return user or User.objects.create_user(username, is_active=False)
