from django.db import migrations


class Migration(migrations.Migration):
    """No release of the code knew the table."""

    dependencies = [
        ("runs", "0027_run_by_goal"),
    ]

    operations = [
        migrations.DeleteModel(name="FaultCheck"),
    ]
