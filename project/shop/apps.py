"""The shop as a Django app."""

from __future__ import annotations

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class ShopConfig(AppConfig):
    """Name and label of the shop in Django's registry."""

    name = "project.shop"
    label = "shop"
    verbose_name = _("Shop")
    default_auto_field = "django.db.models.BigAutoField"
