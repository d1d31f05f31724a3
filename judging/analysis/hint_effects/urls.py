"""Addresses of what hints changed, and of having hints written."""

from django.urls import path

from judging.analysis.hint_effects import views as hint_effects
from judging.analysis.hint_effects import writing_views as hint_writing

urlpatterns = [
    path("hints/write/", hint_writing.hint_write, name="hint_write"),
    path(
        "experiments/<int:experiment_id>/hints/",
        hint_effects.hint_report,
        name="hint_report",
    ),
    path(
        "experiments/<int:experiment_id>/hints/cells/<slug:level>/<slug:relatedness>/",
        hint_effects.hint_cell,
        name="hint_cell",
    ),
    path(
        "experiments/<int:experiment_id>/hints/tables/<slug:name>.<slug:ending>",
        hint_effects.hint_table,
        name="hint_table",
    ),
    path(
        "experiments/<int:experiment_id>/hints/pictures/<slug:name>.svg",
        hint_effects.hint_picture,
        name="hint_picture",
    ),
]
