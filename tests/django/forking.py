"""A site's process that forks: ``python -m tests.django.forking CASE URL`` prints what the child saw."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable

import django
from django.test import override_settings

from echomq_app import connections
from echomq_app.connections import minter, queue_named, wire
from echomq_app.protocol.states import State


def speaks() -> bool:
    """Whether a job goes in."""
    queue = queue_named("default")
    return queue.state(queue.enqueue_new(b"{}")) is State.PENDING


def in_child(look: Callable[[], str]) -> str:
    """What a forked child sees."""
    receiver, sender = os.pipe()
    child = os.fork()
    if child == 0:
        told = "nothing"
        try:
            told = look()
        finally:
            os.write(sender, told.encode())
            os._exit(0)
    os.close(sender)
    with os.fdopen(receiver) as answer:
        seen = answer.read()
    os.waitpid(child, 0)
    return seen


def connection_id() -> object:
    return wire().client.client_id()


def after_use() -> str:
    """Fork once everything was used."""
    speaks()
    ours, before = connection_id(), (wire(), minter())

    def look() -> str:
        fresh = wire() is not before[0] and minter() is not before[1]
        return f"own connection {connection_id() != ours}, fresh {fresh}, speaks {speaks()}"

    return f"{in_child(look)}, parent speaks {speaks()}"


def while_building() -> str:
    """Fork while another thread holds the lock under which clients are built."""
    held, go_on = threading.Event(), threading.Event()

    def build() -> None:
        with connections._building:
            held.set()
            go_on.wait(30)

    thread = threading.Thread(target=build, daemon=True)
    thread.start()
    held.wait(30)
    try:
        return in_child(lambda: f"speaks {speaks()}")
    finally:
        go_on.set()
        thread.join()


if __name__ == "__main__":
    os.environ["DJANGO_SETTINGS_MODULE"] = "tests.settings"
    django.setup()
    with override_settings(ECHOMQ={"CONNECTION": sys.argv[2]}):
        sys.stdout.write({"after-use": after_use, "while-building": while_building}[sys.argv[1]]())
