import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('judging', '0006_failure_reviews'),
        ('runs', '0010_milestones'),
    ]

    operations = [
        migrations.RemoveField(
            model_name='label',
            name='milestones',
        ),
        migrations.AddField(
            model_name='study',
            name='asks_milestones',
            field=models.BooleanField(default=False, verbose_name='ask for milestones'),
        ),
        migrations.CreateModel(
            name='MilestoneTick',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('achieved', models.BooleanField()),
                ('step', models.PositiveIntegerField(null=True)),
                ('lost_step', models.PositiveIntegerField(null=True)),
                ('label', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='ticks', to='judging.label')),
                ('milestone', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='ticks', to='runs.milestone')),
            ],
            options={
                'verbose_name': 'tick of a milestone',
                'ordering': ['label', 'milestone__position', 'milestone'],
            },
        ),
        migrations.AddConstraint(
            model_name='milestonetick',
            constraint=models.UniqueConstraint(fields=('label', 'milestone'), name='one_tick_per_milestone'),
        ),
    ]
