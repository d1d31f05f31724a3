"""Runs keep whether they have a loop, and under which comparison of steps."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('runs', '0035_task_infeasible'),
    ]

    operations = [
        migrations.AddField(
            model_name='run',
            name='loop',
            field=models.SmallIntegerField(choices=[(0, 'no loop'), (1, 'equal actions, on any page'), (2, 'equal actions on equal pages')], editable=False, null=True),
        ),
    ]
