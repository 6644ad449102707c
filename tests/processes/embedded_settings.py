"""Settings of a site whose embedded server lives where the test that starts it says."""

from __future__ import annotations

import os

from tests.settings import *  # noqa: F403 - a settings module is all of another and a little more
from tests.settings import INSTALLED_APPS as APPS

INSTALLED_APPS = [*dict.fromkeys([*APPS, "echomq_app"])]
ECHOMQ = {"EMBEDDED": {"FOLDER": os.environ["EMBEDDED_FOLDER"]}}
if "EMBEDDED_BINARY" in os.environ:
    ECHOMQ["EMBEDDED"]["BINARY"] = os.environ["EMBEDDED_BINARY"]
