"""A hint may be written from several runs of a task."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('runs', '0037_stubs'),
    ]

    operations = [
        migrations.CreateModel(
            name='HintSource',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('hint', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='further', to='runs.hint')),
                ('run', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='further_hints', to='runs.run')),
            ],
            options={
                'verbose_name': 'further source of a hint',
                'ordering': ['hint', 'pk'],
                'constraints': [models.UniqueConstraint(fields=('hint', 'run'), name='one_hint_source_per_run')],
            },
        ),
    ]
