from django.db import migrations


class Migration(migrations.Migration):
    """No release of the code knew the table."""

    dependencies = [
        ("runs", "0029_newest_first"),
    ]

    operations = [
        migrations.DeleteModel(name="FaultCheck"),
    ]
