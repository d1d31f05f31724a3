"""Files with labels that people send in the browser."""

import django.db.models.deletion
import uuid
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('judging', '0017_verdicts_by_age_of_run'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='LabelImport',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('state', models.CharField(choices=[('queued', 'queued'), ('running', 'running'), ('finished', 'finished'), ('cancelled', 'cancelled'), ('stopped_by_budget', 'stopped at its cost limit'), ('failed', 'failed')], default='queued', max_length=17)),
                ('n_total', models.PositiveIntegerField(null=True)),
                ('n_done', models.PositiveIntegerField(default=0)),
                ('problem', models.TextField(blank=True)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('started_at', models.DateTimeField(null=True)),
                ('ended_at', models.DateTimeField(null=True)),
                ('lease_token', models.PositiveIntegerField(default=0)),
                ('lease_expires_at', models.DateTimeField(null=True)),
                ('claimed_at', models.DateTimeField(null=True)),
                ('n_done_at_claim', models.PositiveIntegerField(default=0)),
                ('n_barren', models.PositiveSmallIntegerField(default=0)),
                ('dispatched_at', models.DateTimeField(null=True)),
                ('cancel_requested_at', models.DateTimeField(null=True)),
                ('file_name', models.CharField(max_length=255)),
                ('path', models.CharField(max_length=500)),
                ('size', models.BigIntegerField()),
                ('study_name', models.CharField(max_length=200)),
                ('only_looks', models.BooleanField(default=True)),
                ('report', models.JSONField(default=dict)),
                ('created_by', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='label_imports', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'verbose_name': 'import of labels',
                'ordering': ['-created_at'],
                'abstract': False,
            },
        ),
    ]
