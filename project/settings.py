"""Settings of the demo shop.

Environment: ``EMQ_DEMO_STATE`` (folder of all that the demo writes), ``PORT`` of the site,
``DJANGO_DEBUG``, ``DJANGO_SECRET_KEY``, ``DJANGO_ALLOWED_HOSTS`` (comma separated).
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import django

from echomq_app.runtime.embedded import EmbeddedServer

BASE_DIR = Path(__file__).resolve().parent.parent
STATE_DIR = BASE_DIR / (os.environ.get("EMQ_DEMO_STATE") or ".state")
STATE_DIR.mkdir(mode=0o700, parents=True, exist_ok=True)

DEBUG = os.environ.get("DJANGO_DEBUG", "1").lower() in {"1", "true", "yes", "on"}
SECRET_KEY = os.environ.get("DJANGO_SECRET_KEY", "demo-on-loopback-only" if DEBUG else "")
ALLOWED_HOSTS = [host for host in os.environ.get("DJANGO_ALLOWED_HOSTS", "").split(",") if host]

INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "echomq_app",
    "project.shop",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]

ROOT_URLCONF = "project.urls"
WSGI_APPLICATION = "project.wsgi.application"
ASGI_APPLICATION = "project.asgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]

DATABASES: dict[str, dict[str, Any]] = {
    "default": {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": STATE_DIR / "shop.sqlite3",
        "OPTIONS": {
            # The site and two workers write to one file: readers must not block the writer, and a
            # second writer waits (seconds) where a deferred transaction would fail at once.
            "transaction_mode": "IMMEDIATE",
            "timeout": 20,
            "init_command": "PRAGMA journal_mode=WAL;PRAGMA synchronous=NORMAL",
        },
    },
}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

QUEUE_SERVER = EmbeddedServer(folder=STATE_DIR / "valkey")

CACHES = {
    "default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"},
    # An alias of its own: clear() on a cache empties its whole database.
    "queue": {"BACKEND": "django_redis.cache.RedisCache", "LOCATION": QUEUE_SERVER.url},
}

ECHOMQ: dict[str, Any] = {
    "CONNECTION": "queue",
    "EMBEDDED": {"FOLDER": STATE_DIR / "valkey"},
    # Short, so that retries and dead letters show within seconds.
    "LEASE": 15,
    "MAX_ATTEMPTS": 4,
    "BACKOFF_BASE": 2,
    "BACKOFF_CAP": 8,
}

TASKS = {
    "default": {
        "BACKEND": "echomq_app.backend.EchoMQBackend",
        "QUEUES": ["default", "webhooks", "mail"],
    },
}

MAIL_TO_FILES = "django.core.mail.backends.filebased.EmailBackend"
if django.VERSION >= (6, 1):
    MAILERS = {"default": {"BACKEND": MAIL_TO_FILES, "OPTIONS": {"file_path": STATE_DIR / "mail"}}}
else:
    EMAIL_BACKEND = MAIL_TO_FILES
    EMAIL_FILE_PATH = STATE_DIR / "mail"
DEFAULT_FROM_EMAIL = "shop@example.com"

SHOP_PORT = os.environ.get("PORT") or "8000"
SHOP_WEBHOOK_ORIGIN = f"http://127.0.0.1:{SHOP_PORT}"

AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator"},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
LOGIN_URL = "admin:login"

LANGUAGE_CODE = "en-us"
TIME_ZONE = "UTC"
USE_I18N = True
USE_TZ = True

STATIC_URL = "static/"
STATIC_ROOT = STATE_DIR / "static"

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"format": "%(levelname)s %(name)s %(message)s"}},
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["console"], "level": "INFO"},
    "loggers": {
        # Django's own handlers out, or each of its lines stands there twice.
        "django": {"handlers": [], "level": "INFO"},
        # The worker says when a job starts and ends; these add the traceback of one that is dead.
        "django.tasks": {"level": "ERROR"},
        "django_tasks": {"level": "ERROR"},
    },
}
