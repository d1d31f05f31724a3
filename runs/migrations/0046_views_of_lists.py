"""Views may be saved of other lists than that of runs, whose views they were so far."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("runs", "0045_runs_of_a_person")]

    operations = [
        migrations.RemoveConstraint("savedview", "one_view_per_name"),
        migrations.AddField(
            "savedview", "list_name", models.CharField(default="run", max_length=20)
        ),
        migrations.AddConstraint(
            "savedview",
            models.UniqueConstraint(
                fields=["owner", "list_name", "name"], name="one_view_per_list"
            ),
        ),
    ]
