"""The jobs of an order. Each is safe to run again: delivery is at-least-once with a fence."""

from __future__ import annotations

from urllib.error import HTTPError
from urllib.request import Request, urlopen

from django.conf import settings
from django.core.mail import send_mail
from django.db import transaction
from django.db.models import F
from django.urls import reverse

from echomq_app.compat import task
from project.shop.models import Order, Product

WEBHOOK_TIMEOUT_SECONDS = 5


class OutOfStock(Exception):
    """An order wants more of a product than is left. Restock, then requeue the job."""


class WarehouseRefused(Exception):
    """The warehouse answered a call with anything but success."""


@task(queue_name="mail")
def send_receipt(order_id: int) -> str:
    """Mail the receipt of an order; return the address. A second run sends a second mail."""
    order = Order.objects.select_related("product").get(pk=order_id)
    send_mail(
        subject=f"Your order {order}",
        message=f"{order.quantity} x {order.product.name}: {order.total:.2f} EUR. Thank you!",
        from_email=None,
        recipient_list=[order.email],
    )
    return order.email


@task
def update_stock(order_id: int) -> int:
    """Take an order's goods from the shelf once; return what is left.

    Raises ``OutOfStock`` when the shelf holds too little.
    """
    with transaction.atomic():
        order = Order.objects.get(pk=order_id)
        if not order.stock_taken:
            taken = Product.objects.filter(pk=order.product_id, stock__gte=order.quantity).update(
                stock=F("stock") - order.quantity
            )
            if not taken:
                raise OutOfStock(f"order {order} wants {order.quantity} of {order.product}")
            Order.objects.filter(pk=order_id).update(stock_taken=True)
        return Product.objects.values_list("stock", flat=True).get(pk=order.product_id)


@task(queue_name="webhooks")
def call_warehouse(order_id: int) -> int:
    """Tell the warehouse about an order; return its HTTP status.

    Raises ``WarehouseRefused`` for an HTTP error, ``OSError`` when it cannot be reached.
    """
    url = settings.SHOP_WEBHOOK_ORIGIN + reverse("shop:flaky", args=[order_id])
    request = Request(url, data=b"", method="POST")
    try:
        with urlopen(request, timeout=WEBHOOK_TIMEOUT_SECONDS) as response:
            return int(response.status)
    except HTTPError as error:
        error.close()
        raise WarehouseRefused(f"{url} answered {error.code} {error.reason}") from None
