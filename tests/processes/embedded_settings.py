"""A small site whose embedded server lives where the test that starts it says."""

from __future__ import annotations

import os

SECRET_KEY = "only for tests"
USE_TZ = True
DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}}
INSTALLED_APPS = ["django.contrib.contenttypes", "django.contrib.auth", "echomq_app"]
ECHOMQ = {"EMBEDDED": {"FOLDER": os.environ["EMBEDDED_FOLDER"]}}
if "EMBEDDED_BINARY" in os.environ:
    ECHOMQ["EMBEDDED"]["BINARY"] = os.environ["EMBEDDED_BINARY"]
