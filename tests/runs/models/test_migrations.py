"""Migrations can be applied while an older version of the code is at work, and taken back.

The rules are those of docs/operate.md; they hold for every migration after the first release.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.core.management import call_command
from django.db import connection, migrations, models
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.operations.base import Operation
from django.db.migrations.state import ProjectState
from django.db.models import NOT_PROVIDED
from django.db.models.functions import Lower

from runs.models import Blob, Event, Run, Step, User
from runs.models.live_indexes import AddLiveIndex
from runs.operations.integrity import missing_constraints
from tests.faults.findings import Findings
from tests.runs.factories import make_run, make_user
from tests.runs.live_workers import Site, live_site
from tests.runs.storage.stores import use_store

pytestmark = pytest.mark.slow

RELEASED = "0001_first_release"
HARMLESS = (
    migrations.CreateModel,
    migrations.AlterModelOptions,
    migrations.AlterModelManagers,
    migrations.RemoveIndex,
    migrations.RemoveConstraint,
    AddLiveIndex,
)


def new_migrations() -> Iterator[tuple[str, migrations.Migration, ProjectState]]:
    """Each after the release, with the state before it, oldest first within its app."""
    loader = MigrationLoader(None, ignore_no_migrations=True)
    for app in ("runs", "judging"):
        names = sorted(name for label, name in loader.disk_migrations if label == app)
        for name in names[names.index(RELEASED) + 1 :]:
            before = loader.project_state((app, name), at_end=False)
            yield f"{app}.{name}", loader.disk_migrations[app, name], before


def made_since() -> set[tuple[str, str]]:
    """Models of new tables: nobody uses them yet."""
    return {
        (name.split(".")[0], operation.name_lower)
        for name, migration, _ in new_migrations()
        for operation in migration.operations
        if isinstance(operation, migrations.CreateModel)
    }


def steps(operations: Sequence[Operation]) -> Iterator[Operation]:
    """What is done to the database."""
    for operation in operations:
        if isinstance(operation, migrations.SeparateDatabaseAndState):
            yield from steps(operation.database_operations)
        else:
            yield operation


def fault_of(
    operation: Operation, app: str, before: ProjectState, new: set[tuple[str, str]]
) -> str:
    """Why the older code or a large table would suffer; empty where neither does."""
    deleted = operation.name if isinstance(operation, migrations.DeleteModel) else ""
    model = (deleted or getattr(operation, "model_name", "")).lower()
    if isinstance(operation, HARMLESS) or (app, model) in new:
        return ""
    if isinstance(operation, migrations.AlterModelTable):
        is_same = operation.table == f"{app}_{operation.name_lower}"
        return "" if is_same else "the older code looks for the old table"
    if isinstance(operation, migrations.RenameModel):
        is_kept = "db_table" in before.models[app, operation.old_name_lower].options
        return "" if is_kept else "the older code looks for the old table"
    if isinstance(operation, migrations.AddField):
        field = operation.field
        filled = field.null or field.db_default is not NOT_PROVIDED or field.many_to_many
        # The database fills it at once in all rows: of tasks there are few.
        filled = filled or (isinstance(field, models.GeneratedField) and model == "task")
        return "" if filled else "the older code does not fill it: null=True or db_default"
    if isinstance(operation, migrations.AlterField):
        return _fault_of_change(operation, before.models[app, model].fields[operation.name])
    if isinstance(operation, migrations.RunPython | migrations.RunSQL):
        return "" if operation.reversible else "it cannot be taken back"
    return "takes a lock or takes something away: see docs/operate.md"


def _fault_of_change(operation: migrations.AlterField, old: models.Field[Any, Any]) -> str:
    new = operation.field
    told = [
        {key: value for key, value in field.deconstruct()[3].items() if key not in told_by_code}
        for field in (old, new)
        for told_by_code in [{*field.non_db_attrs, "null", "max_length"}]
    ]
    if type(old) is not type(new) or told[0] != told[1]:
        return "changes the column"
    if old.null and not new.null:
        return "the older code may still write nothing"
    longer = (old.max_length or 0) <= (new.max_length or 0)
    return "" if longer else "what is stored may be longer"


GENERATED: Any = models.GeneratedField(
    expression=Lower("goal"), output_field=models.TextField(), db_persist=True
)


def test_new_migrations_let_the_older_code_go_on():
    new = made_since()
    found = {
        f"{name}: {operation.describe()}": fault
        for name, migration, before in new_migrations()
        for operation in steps(migration.operations)
        if (fault := fault_of(operation, name.split(".")[0], before, new))
    }
    assert found == {}


@pytest.mark.parametrize(
    ("operation", "is_well"),
    [
        (migrations.AddField("run", "x", models.IntegerField(null=True)), True),
        (migrations.AddField("run", "x", models.IntegerField(db_default=0)), True),
        (migrations.AddField("run", "x", models.IntegerField(default=0)), False),
        (migrations.AddField("run", "x", GENERATED), False),
        (migrations.AddField("task", "x", GENERATED), True),
        (migrations.AddField("fresh", "x", models.IntegerField(default=0)), True),
        (migrations.RemoveField("run", "goal"), False),
        (migrations.RenameField("run", "goal", "aim"), False),
        (migrations.DeleteModel("run"), False),
        (migrations.DeleteModel("fresh"), True),
        (migrations.AddIndex("run", models.Index(fields=["goal"], name="x")), False),
        (AddLiveIndex("run", models.Index(fields=["goal"], name="x")), True),
        (migrations.AlterField("run", "goal", models.TextField(blank=True, help_text="x")), True),
        (migrations.AlterField("run", "goal", models.IntegerField()), False),
        (migrations.AlterField("run", "seed", models.BigIntegerField()), False),
        (migrations.RunPython(migrations.RunPython.noop), False),
        (migrations.RunSQL("SELECT 1", "SELECT 1"), True),
    ],
    ids=lambda value: value.describe() if isinstance(value, Operation) else str(value),
)
def test_the_rules(operation: Operation, is_well: bool):
    loader = MigrationLoader(None, ignore_no_migrations=True)
    before = loader.project_state(("runs", RELEASED))
    assert (fault_of(operation, "runs", before, {("runs", "fresh")}) == "") is is_well


def rows() -> dict[str, list[Any]]:
    kept = "pk", "goal", "outcome", "content_hash", "record"
    return {
        "runs": list(Run.objects.order_by("pk").values_list(*kept)),
        "steps": list(Step.objects.order_by("pk").values_list("pk", "run", "action", "screenshot")),
        "blobs": list(Blob.objects.order_by("pk").values_list("pk", "size")),
        "events": list(Event.objects.order_by("pk").values_list("pk", "run", "kind")),
        "people": list(User.objects.order_by("pk").values_list("pk", "username")),
    }


@pytest.fixture(scope="module")
def site(
    django_db_setup: None, django_db_blocker: Any, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Site]:
    """One with a database of its own, which may be taken apart."""
    folder = tmp_path_factory.mktemp("migrations") / "data"
    folder.mkdir()
    with django_db_blocker.unblock(), live_site(folder) as made:
        yield made


def _permissions() -> set[tuple[str, str]]:
    """As they are asked for: by app and name."""
    return set(Permission.objects.values_list("content_type__app_label", "codename"))


@pytest.mark.fault(15, "migrations back to the first release and forward again, with rows there")
def test_nothing_is_lost_back_to_the_release_and_forward_again(
    site: Site, settings: Any, findings: Findings
):
    use_store(settings, site.data_dir / "blobs")
    make_user("annotator", "somebody")
    for _ in range(3):
        make_run(steps=2, content_hash=secrets.token_hex(32))
    expected, permissions = rows(), _permissions()
    for app in {name.partition(".")[0] for name, _, _ in new_migrations()}:
        call_command("migrate", app, RELEASED, verbosity=0)
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM runs_step")
        assert cursor.fetchone()[0] == len(expected["steps"])
    call_command("migrate", verbosity=0)
    assert rows() == expected
    assert _permissions() == permissions
    assert list(missing_constraints()) == []  # and guards
    findings.kept = sum(map(len, expected.values()))
    findings.check()
