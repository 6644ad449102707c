"""Settings of a small project: the same for every contender, but for the queue itself."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from benchmarks import place

_contender = os.environ[place.CONTENDER]

SECRET_KEY = "only for benchmarks"
USE_TZ = True
DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": Path(os.environ[place.FOLDER]) / "db.sqlite3",
    }
}
ROOT_URLCONF = "benchmarks.site.urls"
INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
]
MIDDLEWARE = [
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
]
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]
TASKS: dict[str, Any] = {}

if _contender in ("echomq", "echomq-service"):
    INSTALLED_APPS += ["echomq_app", "benchmarks.peers"]
    ECHOMQ = {"CONNECTION": place.url()}
    TASKS["default"] = {"BACKEND": "echomq_app.backend.EchoMQBackend", "QUEUES": ["default"]}
elif _contender == "django-vtasks":
    INSTALLED_APPS += ["django_vtasks"]
    TASKS["default"] = {
        "BACKEND": "django_vtasks.backends.valkey.ValkeyTaskBackend",
        "OPTIONS": {"BROKER_URL": place.url()},
    }
elif _contender == "django-q2":
    INSTALLED_APPS += ["django_q"]
    Q_CLUSTER = {
        "name": "bench",
        "workers": int(os.environ[place.SLOTS]),
        "timeout": 30,
        "retry": 60,
        "save_limit": -1,
        "redis": place.url(),
    }
