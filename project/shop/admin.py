"""The shop's tables in the admin, where an operator restocks."""

from __future__ import annotations

from django.contrib import admin
from django.http import HttpRequest

from project.shop.models import Order, OrderJob, Product


@admin.register(Product)
class ProductAdmin(admin.ModelAdmin):  # type: ignore[type-arg]  # none at run time
    """Products, with the stock open for editing in the list."""

    list_display = ["name", "stock", "price"]
    list_editable = ["stock"]
    search_fields = ["name"]


class OrderJobInline(admin.TabularInline):  # type: ignore[type-arg]  # none at run time
    """The ids of an order's jobs, as stored."""

    model = OrderJob
    extra = 0
    can_delete = False
    readonly_fields = ["kind", "queue", "job_id"]

    def has_add_permission(self, request: HttpRequest, obj: object = None) -> bool:
        """Only placing an order makes jobs."""
        return False


@admin.register(Order)
class OrderAdmin(admin.ModelAdmin):  # type: ignore[type-arg]  # none at run time
    """Orders, newest first."""

    list_display = ["__str__", "product", "quantity", "email", "created", "stock_taken"]
    list_filter = ["product"]
    list_select_related = ["product"]
    readonly_fields = ["reference", "created", "stock_taken"]
    inlines = [OrderJobInline]

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Only the shop places orders: it stores them with their jobs."""
        return False
