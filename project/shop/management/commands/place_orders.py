"""``manage.py place_orders``: orders, and so work, for the demo."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from project.shop.shelf import place_demo_orders, restock


class Command(BaseCommand):
    """Fill the shelf and order from it."""

    help = "Place orders in the demo shop, three jobs each."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Take how many."""
        parser.add_argument("count", type=int, nargs="?", default=8)

    def handle(self, *args: Any, **options: Any) -> None:
        """Place them and say so."""
        if options["count"] < 1:
            raise CommandError(f"count must be 1 or more, not {options['count']}")
        restock()
        orders = place_demo_orders(options["count"])
        self.stdout.write(f"{len(orders)} orders placed, {orders[0]} to {orders[-1]}")
