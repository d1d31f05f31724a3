"""The people who use the site."""

from django.contrib.auth.models import AbstractUser
from django.db import models


class User(AbstractUser):
    """An account. What it may do comes from its groups; how it likes things from here."""

    preferences = models.JSONField(default=dict, blank=True)
