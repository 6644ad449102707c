"""The site's settings. Environment: ``SITE_URL``, ``SITE_DATABASE``, ``SITE_ECHOMQ`` (JSON)."""

from __future__ import annotations

import json
import os

SECRET_KEY = "only for tests"
USE_TZ = True
DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": os.environ["SITE_DATABASE"],
        "OPTIONS": {"timeout": 20},
    },
    "kept": {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": os.environ["SITE_DATABASE"],
        "CONN_MAX_AGE": None,
        "CONN_HEALTH_CHECKS": True,
        "OPTIONS": {"timeout": 20},
    },
}
INSTALLED_APPS = [
    "django.contrib.contenttypes",
    "django.contrib.auth",
    "echomq_app",
    "tests.processes.site",
]
ECHOMQ = {
    "CONNECTION": os.environ["SITE_URL"],
    "MAX_LAPSES": 1000,
    "BACKOFF_BASE": 0.05,
    "MAX_ATTEMPTS": 2,
    **json.loads(os.environ.get("SITE_ECHOMQ", "{}")),
}
TASKS = {
    "default": {
        "BACKEND": "echomq_app.backend.EchoMQBackend",
        "QUEUES": ["default", "other"],
    }
}
