"""Names the model of agents of our own that were stored without one."""

from django.apps.registry import Apps
from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor


def name_models(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    agents = apps.get_model("runs", "AgentConfiguration").objects
    for agent in agents.filter(model="").iterator():
        named = agent.config.get("model") if isinstance(agent.config, dict) else None
        if isinstance(named, str) and named:
            agents.filter(pk=agent.pk).update(model=named[:200])


class Migration(migrations.Migration):
    dependencies = [("runs", "0008_site_waits")]

    operations = [migrations.RunPython(name_models, migrations.RunPython.noop, elidable=True)]
