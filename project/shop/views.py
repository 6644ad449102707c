"""The shop's pages and the endpoint that its webhook calls."""

from __future__ import annotations

from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from echomq_app.protocol.errors import EnqueueFailed
from project.shop import ordering, warehouse
from project.shop.forms import OrderForm
from project.shop.models import Order, Product
from project.shop.progress import job_lines, settled

RECENT = 10
SESSION_KEY = "orders"


@require_http_methods(["GET", "HEAD", "POST"])
def front(request: HttpRequest) -> HttpResponse:
    """Show the shelf and the order form; a valid form becomes an order and leads to its page."""
    form = OrderForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        order = form.instance
        try:
            ordering.place(order)
        except EnqueueFailed:
            messages.error(request, _("The order is stored. Its jobs could not be sent."))
        request.session[SESSION_KEY] = [order.pk, *request.session.get(SESSION_KEY, [])][:RECENT]
        return redirect(order)
    context = {"form": form, "products": Product.objects.all(), "orders": _visible_orders(request)}
    return render(request, "shop/front.html", context)


def _visible_orders(request: HttpRequest) -> list[Order]:
    orders = Order.objects.select_related("product")
    if not (request.user.is_authenticated and request.user.is_staff):
        orders = orders.filter(pk__in=request.session.get(SESSION_KEY, []))
    return list(orders[:RECENT])


@never_cache
@require_safe
def order(request: HttpRequest, reference: UUID) -> HttpResponse:
    """Show an order and its jobs."""
    return _order_page(request, reference, "shop/order.html")


@never_cache
@require_safe
def order_jobs(request: HttpRequest, reference: UUID) -> HttpResponse:
    """Only the table of an order's jobs, for the page that refreshes itself."""
    return _order_page(request, reference, "shop/_jobs.html")


def _order_page(request: HttpRequest, reference: UUID, template: str) -> HttpResponse:
    found = get_object_or_404(Order.objects.select_related("product"), reference=reference)
    lines = job_lines(found)
    context = {"order": found, "lines": lines, "settled": settled(lines)}
    return render(request, template, context)


@csrf_exempt
@require_POST
def flaky(request: HttpRequest, order_id: int) -> HttpResponse:
    """The warehouse's endpoint: 202 for a call that it takes, 503 for one that it refuses."""
    called = get_object_or_404(Order, pk=order_id)
    accepted = warehouse.receive(called)
    return HttpResponse(status=202 if accepted else 503)
