"""The site's settings, from ``SITE_URL``, ``SITE_DATABASES`` and ``SITE_ECHOMQ`` (JSON), ``SITE_APP``."""

from __future__ import annotations

import json
import os

SECRET_KEY = "only for tests"
USE_TZ = True
DATABASES = json.loads(os.environ["SITE_DATABASES"])
INSTALLED_APPS = [
    "django.contrib.contenttypes",
    "django.contrib.auth",
    "echomq_app",
    "tests.processes.site",
    *os.environ.get("SITE_APP", "").split(),
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
