"""Addresses of tasks and task sets."""

from django.urls import path

from runs.catalogue.milestones import views as milestones
from runs.catalogue.tasks import views as tasks

urlpatterns = [
    path("tasks/", tasks.task_list, name="task_list"),
    path("tasks/<int:task_id>/", tasks.task_detail, name="task_detail"),
    path("tasks/sets/<int:set_id>/", tasks.task_set_detail, name="task_set_detail"),
    path("tasks/<int:task_id>/milestones/", milestones.task_milestones, name="task_milestones"),
    path(
        "tasks/<int:task_id>/milestones/import/",
        milestones.task_milestones_import,
        name="task_milestones_import",
    ),
    path(
        "tasks/<int:task_id>/milestones.json",
        milestones.task_milestones_file,
        name="task_milestones_file",
    ),
    path(
        "tasks/sets/<int:set_id>/milestones/",
        milestones.set_milestones_page,
        name="set_milestones",
    ),
    path(
        "tasks/sets/<int:set_id>/milestones.json",
        milestones.set_milestones_file,
        name="set_milestones_file",
    ),
]
