"""What the shop remembers: products, orders, the jobs of each order, the webhook's calls."""

from __future__ import annotations

import uuid
from decimal import Decimal

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

MOST_PER_ORDER = 10


class Product(models.Model):
    """A thing on the shelf; ``stock`` is what is left of it, ``price`` is in euro."""

    name = models.CharField(_("name"), max_length=80, unique=True)
    stock = models.PositiveIntegerField(_("stock"))
    price = models.DecimalField(_("price"), max_digits=8, decimal_places=2)

    class Meta:
        verbose_name = _("product")
        verbose_name_plural = _("products")
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name


class Order(models.Model):
    """One customer's order, known outside by ``reference``, which nobody can guess.

    ``stock_taken`` turns true in the transaction that lowers the stock, so that a job which
    runs a second time takes nothing twice.
    """

    reference = models.UUIDField(_("reference"), default=uuid.uuid4, unique=True, editable=False)
    product = models.ForeignKey(Product, on_delete=models.PROTECT, verbose_name=_("product"))
    quantity = models.PositiveSmallIntegerField(
        _("quantity"),
        default=1,
        validators=[MinValueValidator(1), MaxValueValidator(MOST_PER_ORDER)],
    )
    email = models.EmailField(_("email"))
    created = models.DateTimeField(_("created"), auto_now_add=True)
    stock_taken = models.BooleanField(_("stock taken"), default=False, editable=False)

    class Meta:
        verbose_name = _("order")
        verbose_name_plural = _("orders")
        ordering = ["-pk"]

    def __str__(self) -> str:
        return f"#{self.pk}"

    def get_absolute_url(self) -> str:
        """The page that follows the order's jobs."""
        return reverse("shop:order", args=[self.reference])

    @property
    def total(self) -> Decimal:
        """What the customer pays, in euro."""
        return self.product.price * self.quantity


class OrderJob(models.Model):
    """The id of a job of an order, stored before the job leaves the process."""

    class Kind(models.TextChoices):
        """What the job does for the order."""

        RECEIPT = "receipt", _("Receipt by mail")
        STOCK = "stock", _("Stock update")
        WEBHOOK = "webhook", _("Call to the warehouse")

    order = models.ForeignKey(Order, on_delete=models.CASCADE, related_name="jobs")
    kind = models.CharField(_("kind"), max_length=10, choices=Kind.choices)
    queue = models.CharField(_("queue"), max_length=128)
    job_id = models.CharField(_("job"), max_length=14, unique=True)

    class Meta:
        verbose_name = _("job of an order")
        verbose_name_plural = _("jobs of orders")
        ordering = ["pk"]

    def __str__(self) -> str:
        return self.job_id


class WarehouseCall(models.Model):
    """One call that reached the flaky endpoint, and whether it was taken."""

    order = models.ForeignKey(Order, on_delete=models.CASCADE, related_name="warehouse_calls")
    accepted = models.BooleanField(_("accepted"))
    received = models.DateTimeField(_("received"), auto_now_add=True)

    class Meta:
        verbose_name = _("call to the warehouse")
        verbose_name_plural = _("calls to the warehouse")
        ordering = ["pk"]

    def __str__(self) -> str:
        return f"{self.order} {self.received:%H:%M:%S}"
