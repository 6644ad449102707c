"""The other side of the webhook: a warehouse that is down now and then, the same way each time."""

from __future__ import annotations

from project.shop.models import Order, WarehouseCall

CYCLE = 4
ALWAYS_REFUSED = 0
REFUSED_AT_FIRST = 2
REFUSALS = 2


def receive(order: Order) -> bool:
    """Record a call about an order; say whether it is accepted.

    Of every four orders in a row one is never accepted, one only at its third call, two at once.
    """
    place = order.pk % CYCLE
    calls = order.warehouse_calls.count()
    refused = place == ALWAYS_REFUSED or (place == REFUSED_AT_FIRST and calls < REFUSALS)
    WarehouseCall.objects.create(order=order, accepted=not refused)
    return not refused
