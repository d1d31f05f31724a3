"""Every address of the site."""

from django.contrib import admin
from django.contrib.auth.decorators import login_not_required
from django.urls import include, path
from django.views.i18n import set_language

urlpatterns = [
    path("", include("runs.accounts.log_in")),
    path("language/", login_not_required(set_language), name="set_language"),
    path("admin/", admin.site.urls),
    path("api/v1/", include("judging.api.urls")),
    path("", include("judging.urls")),
    path("", include("runs.urls")),
]

handler400 = "runs.operations.error_views.bad_request"
handler404 = "runs.operations.error_views.not_found"
handler403 = "runs.operations.error_views.forbidden"
handler500 = "runs.operations.error_views.server_error"
