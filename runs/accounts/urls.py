"""Addresses of log-in, log-out and one's own password; they carry no namespace, as Django's."""

from django.contrib.auth.views import (
    LoginView,
    LogoutView,
    PasswordChangeDoneView,
    PasswordChangeView,
)
from django.urls import path

from runs.accounts.log_in import OwnPasswordForm

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
]
