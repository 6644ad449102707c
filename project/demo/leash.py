"""``python -m project.demo.leash PARENT PROGRAM ARGUMENT...``: run a program that ends with PARENT.

A demo that is killed by ``kill -9`` cannot end its parts; on Linux the kernel then does.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1
"""From <linux/prctl.h>; the setting survives execve."""


def main(parent: int, program: str, *arguments: str) -> None:
    """Become ``program``; end at once when ``parent`` is gone already."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != parent:
            return
    os.execv(program, [program, *arguments])


if __name__ == "__main__":
    main(int(sys.argv[1]), *sys.argv[2:])
