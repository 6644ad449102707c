"""Fills the demo's shelf and places its first orders."""

from __future__ import annotations

from decimal import Decimal
from itertools import cycle, islice

from project.shop.models import Order, Product
from project.shop.ordering import place

GOODS = {
    "Teapot": Decimal("24.50"),
    "Tea cup": Decimal("7.90"),
    "Green tea, 100 g": Decimal("6.20"),
    "Biscuits": Decimal("3.40"),
}
FULL = 200
LOW = 20


def restock() -> None:
    """Put every product on the shelf and refill what runs low."""
    for name, price in GOODS.items():
        Product.objects.get_or_create(name=name, defaults={"price": price, "stock": FULL})
    Product.objects.filter(stock__lt=LOW).update(stock=FULL)


def place_demo_orders(count: int) -> list[Order]:
    """Place ``count`` orders, one product after the other; return them, oldest first."""
    orders = []
    for number, product in enumerate(islice(cycle(Product.objects.all()), count), start=1):
        order = Order(product=product, quantity=1, email=f"customer{number}@example.com")
        place(order)
        orders.append(order)
    return orders
