"""Addresses of tasks and task sets."""

from django.urls import path

from runs.views import tasks

urlpatterns = [
    path("tasks/", tasks.task_list, name="task_list"),
    path("tasks/<int:task_id>/", tasks.task_detail, name="task_detail"),
    path("tasks/sets/<int:set_id>/", tasks.task_set_detail, name="task_set_detail"),
]
