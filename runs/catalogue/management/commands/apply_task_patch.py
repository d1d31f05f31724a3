"""`manage.py apply_task_patch FILE`: make the next version of a task set, or take it back."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from runs.catalogue.patches.files import PatchFileError, patch_path, read_patch
from runs.catalogue.patches.services import (
    PatchReport,
    TaskPatchError,
    apply_patch,
    take_back_patch,
)
from runs.models import TaskRevision


class Command(BaseCommand):
    help = (
        "Make a new version of a task set by a patch, with all its tasks. FILE may be "
        "webarena-1 or webarena-2, which come with Crosscheck."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", metavar="FILE")
        parser.add_argument(
            "--from",
            dest="from_version",
            metavar="VERSION",
            help="version to patch; the file's by default",
        )
        parser.add_argument(
            "--to",
            dest="to_version",
            metavar="VERSION",
            help="version to make; the file's by default",
        )
        parser.add_argument(
            "--reverse", action="store_true", help="remove the made version if nothing uses it"
        )
        parser.add_argument(
            "--skip-missing", action="store_true", help="leave out entries without a task"
        )
        parser.add_argument("--dry-run", action="store_true", help="only check")

    def handle(
        self,
        *,
        file: str,
        from_version: str | None,
        to_version: str | None,
        reverse: bool,
        skip_missing: bool,
        dry_run: bool,
        **_: Any,
    ) -> None:
        try:
            patch = read_patch(patch_path(file))
            if reverse:
                report = take_back_patch(patch=patch, to_version=to_version, is_dry_run=dry_run)
            else:
                report = apply_patch(
                    patch=patch,
                    from_version=from_version,
                    to_version=to_version,
                    skip_missing=skip_missing,
                    is_dry_run=dry_run,
                )
        except (PatchFileError, TaskPatchError) as error:
            raise CommandError(str(error)) from None
        self.stdout.write(_done(report, is_reverse=reverse, is_dry_run=dry_run))
        self._print(report)

    def _print(self, report: PatchReport) -> None:
        labels = dict(TaskRevision.Category.choices)
        for category, count in report.by_category.most_common():
            self.stdout.write(f"    {count:>5}  {labels.get(category, category)}")
        if report.left_out:
            names = ", ".join(report.left_out)
            self.stdout.write(self.style.WARNING(f"  Not in the set: {names}"))


def _done(report: PatchReport, *, is_reverse: bool, is_dry_run: bool) -> str:
    tasks = f"{report.patched} of {report.tasks} tasks patched"
    if is_reverse:
        done = "would be removed" if is_dry_run else "removed; the version before it is as it was"
    elif not report.is_new:
        done = "is there already; nothing to do"
    else:
        done = "would be made" if is_dry_run else "made"
    return f"{report.task_set} {done} ({tasks})."
