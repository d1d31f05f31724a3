"""Every address of the site."""

from django.contrib import admin
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.views import (
    LoginView,
    LogoutView,
    PasswordChangeDoneView,
    PasswordChangeView,
)
from django.urls import include, path
from django.views.i18n import set_language

from runs.accounts.password_form import OwnPasswordForm

urlpatterns = [
    path("login/", LoginView.as_view(template_name="login.html"), name="login"),
    path("logout/", LogoutView.as_view(), name="logout"),
    path(
        "account/password/",
        PasswordChangeView.as_view(
            template_name="password_change.html", form_class=OwnPasswordForm
        ),
        name="password_change",
    ),
    path(
        "account/password/done/",
        PasswordChangeDoneView.as_view(template_name="password_change_done.html"),
        name="password_change_done",
    ),
    path("language/", login_not_required(set_language), name="set_language"),
    path("admin/", admin.site.urls),
    path("api/v1/", include("judging.api.urls")),
    path("", include("judging.urls")),
    path("", include("runs.urls")),
]

handler400 = "runs.operations.requests.error_views.bad_request"
handler404 = "runs.operations.requests.error_views.not_found"
handler403 = "runs.operations.requests.error_views.forbidden"
handler500 = "runs.operations.requests.error_views.server_error"
