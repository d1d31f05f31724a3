"""The tables of the first release: one migration in place of those that led to it."""

import django.core.validators
import django.db.models.deletion
import uuid
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    replaces = [
        ('judging', '0001_initial'),
        ('judging', '0002_initial'),
        ('judging', '0003_causes'),
        ('judging', '0004_batches'),
        ('judging', '0005_evaluations_by_run'),
        ('judging', '0006_failure_reviews'),
        ('judging', '0007_milestone_ticks'),
        ('judging', '0008_leased_work'),
        ('judging', '0009_failure_details'),
    ]

    initial = True

    dependencies = [
        ('runs', '0001_first_release'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='EvaluatorVersion',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=100)),
                ('kind', models.CharField(choices=[('reward', 'imported reward'), ('matcher', 'matcher'), ('judge', 'LLM judge'), ('self_judge', "agent's own judge"), ('network', 'network trace'), ('pipeline', 'pipeline'), ('milestones', 'milestones'), ('modes', 'failure modes')], max_length=12)),
                ('version', models.CharField(max_length=100)),
                ('config', models.JSONField(default=dict)),
                ('config_hash', models.CharField(max_length=64, unique=True)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
            ],
            options={
                'verbose_name': 'evaluator',
                'ordering': ['name', 'version'],
            },
        ),
        migrations.CreateModel(
            name='JudgeReply',
            fields=[
                ('key', models.CharField(max_length=100, primary_key=True, serialize=False)),
                ('reply', models.JSONField()),
                ('created_at', models.DateTimeField(auto_now_add=True)),
            ],
            options={
                'verbose_name': 'reply of a model',
            },
        ),
        migrations.CreateModel(
            name='Study',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=200, unique=True, verbose_name='name')),
                ('description', models.TextField(blank=True, verbose_name='description')),
                ('is_demo', models.BooleanField(default=False)),
                ('is_open', models.BooleanField(default=True, verbose_name='open')),
                ('labels_per_run', models.PositiveSmallIntegerField(default=2, validators=[django.core.validators.MinValueValidator(2), django.core.validators.MaxValueValidator(5)], verbose_name='labels per run')),
                ('hides_identity', models.BooleanField(default=True, verbose_name='hide agent and model')),
                ('repeat_share', models.FloatField(default=0.0, validators=[django.core.validators.MinValueValidator(0.0), django.core.validators.MaxValueValidator(0.5)], verbose_name='share of hidden repeats')),
                ('taxonomy', models.JSONField(default=list, verbose_name='failure causes')),
                ('run_filter', models.JSONField(default=dict)),
                ('sample_seed', models.BigIntegerField(default=0)),
                ('sample_size', models.PositiveIntegerField(null=True)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('asks_milestones', models.BooleanField(default=False, verbose_name='ask for milestones')),
                ('asks_failure_details', models.BooleanField(default=False, verbose_name='ask for details of failures')),
                ('created_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'verbose_name': 'study',
                'verbose_name_plural': 'studies',
                'ordering': ['-created_at'],
                'permissions': [('view_audit', "Can read evaluators' verdicts and audits"), ('adjudicate', 'Can adjudicate disputes')],
            },
        ),
        migrations.CreateModel(
            name='Guideline',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('version', models.PositiveIntegerField()),
                ('text', models.TextField()),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('created_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, to=settings.AUTH_USER_MODEL)),
                ('study', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='guidelines', to='judging.study')),
            ],
            options={
                'ordering': ['study', '-version'],
                'constraints': [models.UniqueConstraint(fields=('study', 'version'), name='one_guideline_version')],
            },
        ),
        migrations.CreateModel(
            name='EvaluationBatch',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('model', models.CharField(blank=True, max_length=200)),
                ('again', models.CharField(choices=[('never', 'only runs that it has not judged yet'), ('no-verdict', 'also runs on which it came to no verdict'), ('all', 'all runs anew')], default='never', max_length=12)),
                ('limit', models.PositiveIntegerField(blank=True, null=True)),
                ('max_cost', models.DecimalField(blank=True, decimal_places=6, max_digits=14, null=True)),
                ('spent', models.DecimalField(decimal_places=6, default=0, max_digits=14)),
                ('n_unpriced', models.PositiveIntegerField(default=0)),
                ('estimate', models.JSONField(default=dict)),
                ('state', models.CharField(choices=[('queued', 'queued'), ('running', 'running'), ('finished', 'finished'), ('cancelled', 'cancelled'), ('stopped_by_budget', 'stopped at its cost limit'), ('failed', 'failed')], default='queued', max_length=17)),
                ('n_total', models.PositiveIntegerField(null=True)),
                ('n_done', models.PositiveIntegerField(default=0)),
                ('n_passed', models.PositiveIntegerField(default=0)),
                ('n_failed', models.PositiveIntegerField(default=0)),
                ('n_error', models.PositiveIntegerField(default=0)),
                ('n_not_applicable', models.PositiveIntegerField(default=0)),
                ('n_already', models.PositiveIntegerField(default=0)),
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
                ('problem', models.TextField(blank=True)),
                ('input_tokens', models.PositiveBigIntegerField(default=0)),
                ('output_tokens', models.PositiveBigIntegerField(default=0)),
                ('created_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, to=settings.AUTH_USER_MODEL)),
                ('evaluator', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='batches', to='judging.evaluatorversion')),
                ('study', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='batches', to='judging.study')),
            ],
            options={
                'verbose_name': 'batch of evaluations',
                'ordering': ['-created_at'],
                'indexes': [models.Index(fields=['state', 'created_at'], name='batch_by_state')],
                'constraints': [models.UniqueConstraint(condition=models.Q(('state', 'running'), models.Q(('model', ''), _negated=True)), fields=('model',), name='one_running_batch_per_model')],
            },
        ),
        migrations.CreateModel(
            name='StudyItem',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('position', models.PositiveIntegerField()),
                ('status', models.CharField(choices=[('open', 'open'), ('disputed', 'disputed'), ('settled', 'settled')], default='open', max_length=10)),
                ('n_labels', models.PositiveSmallIntegerField(default=0)),
                ('run', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='study_items', to='runs.run')),
                ('study', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='items', to='judging.study')),
            ],
            options={
                'ordering': ['study', 'position'],
                'indexes': [models.Index(fields=['study', 'status'], name='item_by_status')],
                'constraints': [models.UniqueConstraint(fields=('study', 'run'), name='run_once_per_study')],
            },
        ),
        migrations.CreateModel(
            name='Dispute',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('opened_at', models.DateTimeField(auto_now_add=True)),
                ('order_seed', models.BigIntegerField()),
                ('version', models.PositiveIntegerField(default=0)),
                ('item', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='dispute', to='judging.studyitem')),
            ],
            options={
                'verbose_name': 'dispute',
            },
        ),
        migrations.CreateModel(
            name='DisputeMessage',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('text', models.TextField()),
                ('proposal', models.CharField(blank=True, max_length=15)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('author', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, to=settings.AUTH_USER_MODEL)),
                ('dispute', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='messages', to='judging.dispute')),
            ],
            options={
                'ordering': ['dispute', 'created_at', 'id'],
            },
        ),
        migrations.CreateModel(
            name='Label',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('is_repeat', models.BooleanField(default=False)),
                ('success', models.CharField(choices=[('success', 'success'), ('failure', 'failure'), ('unsure', 'unsure'), ('not_executable', 'not executable')], max_length=15)),
                ('confidence', models.PositiveSmallIntegerField(blank=True, null=True)),
                ('causes', models.JSONField(default=list)),
                ('failure_step', models.PositiveIntegerField(blank=True, null=True)),
                ('rationale', models.TextField(blank=True)),
                ('seconds', models.FloatField(default=0.0)),
                ('submitted_at', models.DateTimeField()),
                ('idempotency_key', models.CharField(blank=True, max_length=64)),
                ('extra', models.JSONField(default=dict)),
                ('annotator', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='labels', to=settings.AUTH_USER_MODEL)),
                ('guideline', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, to='judging.guideline')),
                ('item', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='labels', to='judging.studyitem')),
            ],
            options={
                'verbose_name': 'label',
                'constraints': [models.UniqueConstraint(fields=('item', 'annotator', 'is_repeat'), name='one_label_per_person')],
            },
        ),
        migrations.CreateModel(
            name='LabelRevision',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('at', models.DateTimeField(auto_now_add=True)),
                ('content', models.JSONField()),
                ('label', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='revisions', to='judging.label')),
            ],
            options={
                'ordering': ['label', 'at'],
            },
        ),
        migrations.CreateModel(
            name='StepComment',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('is_repeat', models.BooleanField(default=False)),
                ('step_index', models.PositiveIntegerField()),
                ('text', models.TextField()),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('author', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, to=settings.AUTH_USER_MODEL)),
                ('item', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='comments', to='judging.studyitem')),
            ],
            options={
                'ordering': ['item', 'step_index', 'id'],
            },
        ),
        migrations.CreateModel(
            name='ReferenceVerdict',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('verdict', models.CharField(choices=[('success', 'success'), ('failure', 'failure'), ('not_executable', 'not executable')], max_length=15)),
                ('origin', models.CharField(choices=[('agreed', 'both annotators agreed'), ('consensus', 'agreed in discussion'), ('adjudicated', 'adjudicated'), ('imported', 'imported')], max_length=12)),
                ('rationale', models.TextField(blank=True)),
                ('decided_at', models.DateTimeField()),
                ('is_authoritative', models.BooleanField(default=True)),
                ('record', models.JSONField(default=dict)),
                ('decided_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, to=settings.AUTH_USER_MODEL)),
                ('run', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='verdicts', to='runs.run')),
                ('item', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='verdict', to='judging.studyitem')),
            ],
            options={
                'verbose_name': 'reference verdict',
                'constraints': [models.UniqueConstraint(condition=models.Q(('is_authoritative', True)), fields=('run',), name='one_authoritative_verdict_per_run')],
            },
        ),
        migrations.CreateModel(
            name='CauseTag',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('evaluator_name', models.CharField(max_length=100)),
                ('error', models.CharField(choices=[('fn', 'false negative'), ('fp', 'false positive')], max_length=2)),
                ('causes', models.JSONField(default=list)),
                ('repair', models.CharField(blank=True, choices=[('task_data', 'task data'), ('evaluation_logic', 'evaluation logic'), ('neither', 'neither')], max_length=20)),
                ('note', models.TextField(blank=True)),
                ('at', models.DateTimeField(auto_now_add=True)),
                ('batch', models.UUIDField(db_index=True, default=uuid.uuid4)),
                ('is_undo', models.BooleanField(default=False)),
                ('is_current', models.BooleanField(default=True)),
                ('by', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='cause_tags', to=settings.AUTH_USER_MODEL)),
                ('replaces', models.OneToOneField(null=True, on_delete=django.db.models.deletion.RESTRICT, related_name='replaced_by', to='judging.causetag')),
                ('evaluator', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='cause_tags', to='judging.evaluatorversion')),
                ('item', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='cause_tags', to='judging.studyitem')),
            ],
            options={
                'verbose_name': 'cause of an error',
                'ordering': ['item', 'at', 'id'],
                'constraints': [models.UniqueConstraint(condition=models.Q(('is_current', True)), fields=('item', 'evaluator_name', 'error'), name='one_current_cause_tag')],
            },
        ),
        migrations.CreateModel(
            name='Assignment',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('is_repeat', models.BooleanField(default=False)),
                ('state', models.CharField(choices=[('leased', 'in work'), ('submitted', 'submitted'), ('skipped', 'skipped')], default='leased', max_length=10)),
                ('leased_until', models.DateTimeField()),
                ('opened_at', models.DateTimeField()),
                ('draft', models.JSONField(default=dict)),
                ('draft_saved_at', models.DateTimeField(null=True)),
                ('seconds', models.FloatField(default=0.0)),
                ('skip_reason', models.TextField(blank=True)),
                ('skipped_at', models.DateTimeField(null=True)),
                ('n_skips', models.PositiveSmallIntegerField(default=0)),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='assignments', to=settings.AUTH_USER_MODEL)),
                ('item', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='assignments', to='judging.studyitem')),
            ],
            options={
                'indexes': [models.Index(fields=['user', 'state'], name='assignment_by_user')],
                'constraints': [models.UniqueConstraint(fields=('item', 'user', 'is_repeat'), name='one_assignment_per_person')],
            },
        ),
        migrations.CreateModel(
            name='StudyMember',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('part', models.CharField(choices=[('annotator', 'annotator'), ('adjudicator', 'adjudicator')], max_length=12)),
                ('left_at', models.DateTimeField(blank=True, null=True)),
                ('study', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='members', to='judging.study')),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='study_parts', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('study', 'user'), name='one_part_per_person')],
            },
        ),
        migrations.CreateModel(
            name='Unblinding',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('reason', models.CharField(max_length=200)),
                ('at', models.DateTimeField(auto_now_add=True)),
                ('item', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='unblindings', to='judging.studyitem')),
                ('study', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to='judging.study')),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ['-at'],
                'constraints': [models.UniqueConstraint(condition=models.Q(('item__isnull', False)), fields=('user', 'item'), name='one_unblinding_per_person')],
            },
        ),
        migrations.CreateModel(
            name='EvaluationBatchItem',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('position', models.PositiveIntegerField()),
                ('is_done', models.BooleanField(default=False)),
                ('batch', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='items', to='judging.evaluationbatch')),
                ('run', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='runs.run')),
            ],
            options={
                'ordering': ['batch', 'position'],
                'indexes': [models.Index(condition=models.Q(('is_done', False)), fields=['batch', 'position'], name='batch_item_waiting')],
                'constraints': [models.UniqueConstraint(fields=('batch', 'run'), name='run_once_per_batch')],
            },
        ),
        migrations.CreateModel(
            name='Evaluation',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('verdict', models.CharField(choices=[('passed', 'passed'), ('failed', 'failed'), ('error', 'no verdict'), ('not_applicable', 'not applicable')], max_length=15)),
                ('score', models.FloatField(null=True)),
                ('reason', models.CharField(blank=True, max_length=200)),
                ('details', models.JSONField(default=dict)),
                ('rationale', models.TextField(blank=True)),
                ('cost', models.DecimalField(decimal_places=6, max_digits=14, null=True)),
                ('seconds', models.FloatField(null=True)),
                ('record', models.JSONField(default=dict)),
                ('is_current', models.BooleanField(default=True)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('run', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='evaluations', to='runs.run')),
                ('task', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='evaluations', to='runs.task')),
                ('batch', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='evaluations', to='judging.evaluationbatch')),
                ('evaluator', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='evaluations', to='judging.evaluatorversion')),
            ],
            options={
                'verbose_name': 'evaluation',
                'indexes': [models.Index(fields=['evaluator', 'verdict', 'run'], name='evaluation_cells'), models.Index(condition=models.Q(('batch__isnull', False)), fields=['batch', 'verdict'], name='evaluation_by_batch'), models.Index(fields=['run', 'evaluator', 'verdict', 'is_current'], name='evaluation_by_run')],
                'constraints': [models.UniqueConstraint(condition=models.Q(('is_current', True)), fields=('run', 'evaluator'), name='one_current_evaluation')],
            },
        ),
        migrations.CreateModel(
            name='FailureReview',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('decision', models.CharField(choices=[('confirmed', 'confirmed'), ('changed', 'changed'), ('rejected', 'rejected'), ('own', 'said without a proposal'), ('withdrawn', 'taken back')], max_length=10)),
                ('modes', models.JSONField(default=dict)),
                ('side', models.CharField(blank=True, max_length=10)),
                ('note', models.TextField(blank=True)),
                ('proposed', models.JSONField(default=dict)),
                ('at', models.DateTimeField(auto_now_add=True)),
                ('batch', models.UUIDField(db_index=True, default=uuid.uuid4)),
                ('is_current', models.BooleanField(default=True)),
                ('by', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='failure_reviews', to=settings.AUTH_USER_MODEL)),
                ('replaces', models.OneToOneField(null=True, on_delete=django.db.models.deletion.RESTRICT, related_name='replaced_by', to='judging.failurereview')),
                ('run', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='failure_reviews', to='runs.run')),
            ],
            options={
                'verbose_name': 'word on a failure',
                'ordering': ['run', 'at', 'id'],
                'constraints': [models.UniqueConstraint(condition=models.Q(('is_current', True)), fields=('run',), name='one_current_failure_review')],
            },
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
                'constraints': [models.UniqueConstraint(fields=('label', 'milestone'), name='one_tick_per_milestone')],
            },
        ),
    ]
