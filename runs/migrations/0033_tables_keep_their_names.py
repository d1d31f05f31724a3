"""Two tables are named, so that their models can be renamed without touching them."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("runs", "0032_task_and_archive_lists")]

    operations = [
        migrations.AlterModelTable(name="act", table="runs_act"),
        migrations.AlterModelTable(name="doomedblob", table="runs_doomedblob"),
    ]
