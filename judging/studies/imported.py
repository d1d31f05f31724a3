"""Where imported labels and adjudications lie: closed studies, marked as imported."""

from collections.abc import Collection, Iterable
from uuid import UUID

from django.contrib.auth.models import AbstractUser
from django.db.models import Count, QuerySet
from django.utils.translation import gettext_lazy as _

from judging.models import Label, Study, StudyItem, StudyMember
from judging.studies.access import studies_hidden_from
from runs.models import Run, User
from webagent.trajectory.intake import InputError
from webagent.trajectory.texts import bounded_name

UNNAMED = "Imported labels"
"""The study of labels that name none."""
IMPORTED = "imported"
"""Key in `Study.run_filter` that marks a study made by an import."""
KEPT_HERE = "the study is kept here, and imports do not enter it"
NAME_CHARS = 200
USERNAME_CHARS = 150
MAX_LABELS_PER_RUN = 5
AT_ONCE = 200
"""Rows that one statement changes."""


class StudyNameError(ValueError):
    """Labels cannot go to a study of that name; its words are translated."""


def study_name(name: str | None) -> str:
    """The name that a study of this name in a file has here."""
    return bounded_name(name or UNNAMED)


def kept_here(names: Iterable[str | None]) -> set[str]:
    """Those of the studies of these names in a file that no import enters."""
    studies = Study.objects.filter(name__among=set(map(study_name, names)))
    return set(studies.exclude(run_filter__has_key=IMPORTED).values_list("name", flat=True))


def imported_studies(user: User) -> QuerySet[Study]:
    """The studies that imports made and that the person may add to."""
    hidden = studies_hidden_from(user).values("pk")
    return Study.objects.filter(run_filter__has_key=IMPORTED).exclude(pk__in=hidden)


class Places:
    """Studies, the places of runs in them, and accounts that imports meet: each looked up once.

    For as long as one transaction: what others do meanwhile is not seen.
    """

    def __init__(self) -> None:
        self._studies: dict[str, Study] = {}
        self._items: dict[tuple[int, UUID], StudyItem] = {}
        self._free: dict[int, int] = {}
        """By study: the position of the next run."""
        self._people: dict[str, User] = {}
        self._parts: set[tuple[int, int]] = set()
        self._uncounted: dict[int, StudyItem] = {}
        self._met: set[tuple[int, UUID]] = set()

    def load(self, name: str, runs: Collection[UUID]) -> None:
        """Look up the places of these runs in the study, in one query, and keep it for oneself."""
        study = Study.objects.select_for_update().filter(name=name).first()
        if study is None:
            return
        self._studies[name] = study
        for item in StudyItem.objects.filter(study=study, run__among=set(runs)):
            item.study = study
            self._items.setdefault((study.pk, item.run_id), item)
        self._met |= {(study.pk, run) for run in runs}

    def item(self, name: str | None, run: Run) -> StudyItem:
        """The run's place in the imported study of that name.

        Raises:
            InputError: a study here has the name.
        """
        study = self._study(study_name(name))
        if not study.run_filter.get(IMPORTED):
            raise InputError("study", KEPT_HERE)
        key = (study.pk, run.pk)
        if key not in self._items:
            self._items[key] = self._make(study, run)
        return self._items[key]

    def _make(self, study: Study, run: Run) -> StudyItem:
        position = self._free.get(study.pk) or study.items.count() + 1
        self._free[study.pk] = position + 1
        if (study.pk, run.pk) in self._met:
            return StudyItem.objects.create(
                study=study, run=run, position=position, run_created_at=run.created_at
            )
        item, is_new = StudyItem.objects.get_or_create(
            study=study, run=run, defaults={"position": position, "run_created_at": run.created_at}
        )
        self._free[study.pk] = position + is_new
        item.study = study
        return item

    def labelled(self, item: StudyItem) -> None:
        """Another label was given there, which `count` counts."""
        self._uncounted[item.pk] = item

    def count(self) -> None:
        """Bring the counts of labels up to date, and the protocols with them."""
        items, self._uncounted = list(self._uncounted.values()), {}
        if not items:
            return
        labels = Label.objects.independent().filter(item__in=items).order_by()
        counts = dict(labels.values_list("item").annotate(n=Count("pk")))
        for item in items:
            item.n_labels = counts.get(item.pk, 0)
        StudyItem.objects.bulk_update(items, ["n_labels"], batch_size=AT_ONCE)
        for study in {item.study for item in items}:
            most = max(item.n_labels for item in items if item.study_id == study.pk)
            if most > study.labels_per_run:
                study.labels_per_run = min(most, MAX_LABELS_PER_RUN)
                study.save(update_fields=["labels_per_run"])

    def person(self, name: str) -> User:
        """The account of that name; if there is none, one that nobody can log in to."""
        username = account_name(name)
        if username not in self._people:
            user = User.objects.filter(username=username).first()
            self._people[username] = user or User.objects.create_user(username, is_active=False)
        return self._people[username]

    def give_part(self, study: Study, user: User) -> None:
        """Make the person an annotator of the study, if they are no member of it."""
        if (study.pk, user.pk) not in self._parts:
            annotator = {"part": StudyMember.Part.ANNOTATOR}
            StudyMember.objects.get_or_create(study=study, user=user, defaults=annotator)
            self._parts.add((study.pk, user.pk))

    def forget(self, run: Run) -> None:
        """Forget the places of the run: they were changed elsewhere."""
        self._items = {key: item for key, item in self._items.items() if key[1] != run.pk}
        self._met = {key for key in self._met if key[1] != run.pk}

    def _study(self, name: str) -> Study:
        if name not in self._studies:
            defaults = {"is_open": False, "run_filter": {IMPORTED: True}}
            self._studies[name], _is_new = Study.objects.get_or_create(name=name, defaults=defaults)
        return self._studies[name]


def account_name(name: str) -> str:
    """The name that the account of somebody of this name has."""
    return bounded_name(AbstractUser.normalize_username(name), USERNAME_CHARS)


def check_study_name(study: str, user: User | None = None) -> None:
    """Whether labels may go to a study of this name.

    Raises:
        StudyNameError: they may not.
    """
    if not study.strip() or len(study) > NAME_CHARS or not study.isprintable():
        raise StudyNameError(_("A study's name has 1 to %(n)s characters.") % {"n": NAME_CHARS})
    known = Study.objects.filter(name=study).first()
    if known and not known.run_filter.get(IMPORTED):
        raise StudyNameError(_("A study of this name is kept here, and imports cannot add to it."))
    if known and user and studies_hidden_from(user).filter(pk=known.pk).exists():
        raise StudyNameError(
            _("This study holds a run that you are to judge yourself; others may add to it.")
        )
