"""Plainer names of two models; their tables keep theirs."""

from django.db import migrations


class Migration(migrations.Migration):

    dependencies = [
        ('runs', '0033_tables_keep_their_names'),
    ]

    operations = [
        migrations.RenameModel(old_name='Act', new_name='AuditEntry'),
        migrations.RenameModel(old_name='DoomedBlob', new_name='PendingDeletion'),
        migrations.AlterModelOptions(
            name='auditentry',
            options={
                'default_permissions': (),
                'ordering': ['-pk'],
                'permissions': [('read_acts', 'Can read the audit log')],
            },
        ),
        migrations.AlterModelOptions(
            name='experiment',
            options={
                'ordering': ['-created_at'],
                'verbose_name': 'experiment',
                'permissions': [
                    ('manage_space', 'Can archive and delete runs, and set quotas')
                ],
            },
        ),
    ]
