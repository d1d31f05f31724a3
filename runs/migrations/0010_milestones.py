import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('runs', '0009_agent_models'),
    ]

    operations = [
        migrations.CreateModel(
            name='Milestone',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('position', models.PositiveIntegerField()),
                ('name', models.CharField(max_length=200, verbose_name='name')),
                ('weight', models.FloatField(default=1.0, verbose_name='weight')),
                ('is_ordered', models.BooleanField(default=False, verbose_name='in order')),
                ('rule', models.JSONField(blank=True, null=True, verbose_name='mechanical check')),
                ('origin', models.CharField(choices=[('written', 'written here'), ('imported', 'imported'), ('proposed', 'proposed by a model, accepted by a person')], default='written', max_length=10)),
                ('added_at', models.DateTimeField(auto_now_add=True)),
                ('removed_at', models.DateTimeField(blank=True, null=True)),
                ('added_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, to=settings.AUTH_USER_MODEL)),
                ('task', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='milestones', to='runs.task')),
            ],
            options={
                'verbose_name': 'milestone',
                'ordering': ['task', 'position', 'id'],
            },
        ),
        migrations.AddConstraint(
            model_name='milestone',
            constraint=models.UniqueConstraint(condition=models.Q(('removed_at__isnull', True)), fields=('task', 'name'), name='milestone_named_once'),
        ),
        migrations.AddConstraint(
            model_name='milestone',
            constraint=models.CheckConstraint(condition=models.Q(('weight__gt', 0)), name='milestone_weighs'),
        ),
    ]
