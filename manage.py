#!/usr/bin/env python
"""Run the demo project's management commands."""

from __future__ import annotations

import os
import sys


def main() -> None:
    """Run one command with the demo project's settings unless others are named."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "project.settings")
    try:
        from django.core.management import execute_from_command_line

        execute_from_command_line(sys.argv)
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
