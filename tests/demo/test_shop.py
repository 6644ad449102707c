"""The shop's pages and tasks, with real queues and without a browser."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from django.contrib.auth.models import User
from django.core import mail
from django.db import transaction
from django.test import Client
from django.urls import reverse

from echomq_app.connections import queue_named
from echomq_app.protocol.states import State
from project.shop.models import Order, OrderJob, Product
from tests.django.work import work

if TYPE_CHECKING:
    from pytest_django.fixtures import Settings
    from pytest_django.live_server_helper import LiveServer

pytestmark = pytest.mark.usefixtures("shop_queues")

KINDS = OrderJob.Kind


@pytest.fixture
def teapot(shop_queues: str) -> Product:
    return Product.objects.create(name="Teapot", stock=5, price="24.50")


@pytest.fixture
def order(teapot: Product) -> Order:
    return placed(teapot)


def placed(product: Product, quantity: int = 1, email: str = "ada@example.com") -> Order:
    from project.shop.ordering import place

    order = Order(product=product, quantity=quantity, email=email)
    place(order)
    return order


def form(product: Product, **changed: object) -> dict[str, object]:
    return {"product": product.pk, "quantity": 1, "email": "ada@example.com"} | changed


def page_of(order: Order, client: Client | None = None) -> str:
    return (client or Client()).get(order.get_absolute_url()).content.decode()


def fail(order: Order, *, max_attempts: int) -> None:
    """Claim the order's webhook job and let it fail."""
    queue = queue_named("webhooks")
    [held] = queue.claim_many(timedelta(seconds=60), 1, "tests")
    assert order.jobs.filter(job_id=held.job_id).exists()
    queue.retry(held, delay=timedelta(minutes=1), max_attempts=max_attempts, error="refused")


def test_an_order_stores_the_ids_of_the_jobs_that_wait_in_the_queues(
    teapot: Product, client: Client
) -> None:
    answer = client.post("/", form(teapot))

    order = Order.objects.get()
    assert answer.headers["Location"] == order.get_absolute_url()
    assert [job.kind for job in order.jobs.all()] == [KINDS.RECEIPT, KINDS.STOCK, KINDS.WEBHOOK]
    for job in order.jobs.all():
        assert queue_named(job.queue).state(job.job_id) is State.PENDING


def test_an_order_that_is_rolled_back_sends_nothing(teapot: Product) -> None:
    with transaction.atomic():
        order = placed(teapot)
        assert order.jobs.count() == 3
        transaction.set_rollback(True)

    assert not Order.objects.exists()
    assert [queue_named(name).pending_size() for name in ("default", "mail", "webhooks")] == [0] * 3


def test_the_page_of_an_order_follows_a_job_from_state_to_state(order: Order) -> None:
    queue = queue_named("mail")
    assert page_of(order).count(">waiting<") == 3

    [held] = queue.claim_many(timedelta(seconds=60), 1, "tests")
    assert ">running<" in page_of(order)

    queue.release(held)
    work("mail")
    assert ">done<" in page_of(order)
    assert "data-settled" not in page_of(order)


def test_a_job_that_failed_waits_for_its_next_attempt_or_is_dead(order: Order) -> None:
    fail(order, max_attempts=2)
    assert ">failed, will be tried again<" in page_of(order)

    queue = queue_named("webhooks")
    job = order.jobs.get(kind=KINDS.WEBHOOK)
    queue.remove(job.job_id)
    assert ">no longer known<" in page_of(order)

    other = placed(order.product)
    fail(other, max_attempts=1)
    assert ">failed for good<" in page_of(other)


def test_a_page_whose_jobs_have_all_ended_asks_no_more(order: Order) -> None:
    fail(order, max_attempts=1)
    work("default", "mail")

    assert "<table data-settled>" in page_of(order)
    fragment = Client().get(reverse("shop:order-jobs", args=[order.reference])).content.decode()
    assert fragment.strip().startswith("<table data-settled>")


def test_an_order_outlives_a_queue_that_is_away(
    teapot: Product, client: Client, settings: Settings
) -> None:
    settings.ECHOMQ = {**settings.ECHOMQ, "CONNECTION": "redis://127.0.0.1:1/0"}

    answer = client.post("/", form(teapot), follow=True)

    assert Order.objects.get().jobs.count() == 3
    page = answer.content.decode()
    assert "The order is stored. Its jobs could not be sent." in page
    assert page.count("unknown: the queue cannot be reached") == 3


def test_operators_find_each_job_in_the_admin_and_visitors_do_not(
    order: Order, admin_client: Client
) -> None:
    operators_page = reverse(
        "admin:echomq_app_queue_job",
        kwargs={"queue": "mail", "job_id": order.jobs.get(kind=KINDS.RECEIPT).job_id},
    )

    assert f'href="{operators_page}"' in page_of(order, admin_client)
    assert admin_client.get(operators_page).status_code == 200
    assert operators_page not in page_of(order)


def test_visitors_see_their_own_orders_and_operators_see_all(
    order: Order, teapot: Product, client: Client, admin_client: Client
) -> None:
    client.post("/", form(teapot))
    own = Order.objects.first()
    assert own is not None

    front = client.get("/").content.decode()
    assert own.get_absolute_url() in front
    assert order.get_absolute_url() not in front
    assert order.get_absolute_url() in admin_client.get("/").content.decode()


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"quantity": 6}, "Only 5 of Teapot left."),
        ({"quantity": 0}, "greater than or equal to 1"),
        ({"email": "ada"}, "valid email address"),
        ({"product": 0}, "valid choice"),
    ],
)
def test_a_form_with_a_fault_says_which_and_orders_nothing(
    teapot: Product, client: Client, change: dict[str, object], complaint: str
) -> None:
    answer = client.post("/", form(teapot) | change)

    assert complaint in answer.content.decode()
    assert not Order.objects.exists()


def test_nobody_orders_more_than_ten(client: Client, shop_queues: str) -> None:
    cups = Product.objects.create(name="Tea cup", stock=20, price="7.90")

    answer = client.post("/", form(cups, quantity=11))

    assert "less than or equal to 10" in answer.content.decode()
    assert not Order.objects.exists()


def test_an_order_from_another_site_is_refused(teapot: Product) -> None:
    answer = Client(enforce_csrf_checks=True).post("/", form(teapot))

    assert answer.status_code == 403
    assert not Order.objects.exists()


def test_names_of_strangers_are_shown_as_text(client: Client, shop_queues: str) -> None:
    order = placed(
        Product.objects.create(name="<script>x</script>", stock=1, price="1.00"),
        email='"<b>"@example.com',
    )

    for page in (client.get("/").content.decode(), page_of(order)):
        assert "<script>x" not in page
        assert "&lt;script&gt;x" in page
    assert "<b>" not in page_of(order)


def test_an_unknown_order_is_not_found(client: Client) -> None:
    reference = "00000000-0000-4000-8000-000000000000"

    assert client.get(f"/orders/{reference}/").status_code == 404
    assert client.post("/flaky/1/").status_code == 404


def test_the_warehouse_refuses_one_order_always_and_one_twice(teapot: Product) -> None:
    warehouse = Client(enforce_csrf_checks=True)
    answers = {
        pk: [warehouse.post(f"/flaky/{pk}/").status_code for _ in range(4)]
        for pk in [
            Order.objects.create(pk=pk, product=teapot, email="a@b.c").pk for pk in range(5, 9)
        ]
    }

    assert answers == {5: [202] * 4, 6: [503, 503, 202, 202], 7: [202] * 4, 8: [503] * 4}
    assert warehouse.get("/flaky/5/").status_code == 405


def test_the_receipt_goes_to_the_customer(order: Order) -> None:
    work("mail")

    [receipt] = mail.outbox
    assert receipt.to == ["ada@example.com"]
    assert "1 x Teapot: 24.50 EUR" in receipt.body


def test_the_stock_is_taken_once_though_the_job_runs_twice(order: Order, teapot: Product) -> None:
    from project.shop.tasks import update_stock

    assert update_stock.call(order.pk) == 4
    assert update_stock.call(order.pk) == 4

    teapot.refresh_from_db()
    assert teapot.stock == 4


def test_an_order_for_more_than_is_left_takes_nothing(teapot: Product) -> None:
    from project.shop.tasks import OutOfStock, update_stock

    order = placed(teapot, quantity=6)

    with pytest.raises(OutOfStock, match=f"order #{order.pk} wants 6 of Teapot"):
        update_stock.call(order.pk)

    teapot.refresh_from_db()
    order.refresh_from_db()
    assert (teapot.stock, order.stock_taken) == (5, False)


def test_a_call_to_the_warehouse_fails_with_its_answer(
    teapot: Product, live_server: LiveServer, settings: Settings
) -> None:
    from project.shop.tasks import WarehouseRefused, call_warehouse

    settings.SHOP_WEBHOOK_ORIGIN = live_server.url
    taken = Order.objects.create(pk=5, product=teapot, email="a@b.c")
    refused = Order.objects.create(pk=8, product=teapot, email="a@b.c")

    assert call_warehouse.call(taken.pk) == 202
    with pytest.raises(WarehouseRefused, match="/flaky/8/ answered 503 Service Unavailable"):
        call_warehouse.call(refused.pk)


def test_a_warehouse_that_is_away_is_a_failure_too(order: Order) -> None:
    from project.shop.tasks import call_warehouse

    with pytest.raises(OSError, match="refused"):
        call_warehouse.call(order.pk)


def test_operators_restock_in_the_admin(teapot: Product, admin_client: Client) -> None:
    assert User.objects.get().is_superuser
    change = {
        "form-TOTAL_FORMS": 1,
        "form-INITIAL_FORMS": 1,
        "form-0-id": teapot.pk,
        "form-0-stock": 70,
        "_save": "Save",
    }

    answer = admin_client.post("/admin/shop/product/", change)

    assert answer.status_code == 302
    teapot.refresh_from_db()
    assert teapot.stock == 70


def test_an_order_in_the_admin_names_its_jobs(order: Order, admin_client: Client) -> None:
    page = admin_client.get(f"/admin/shop/order/{order.pk}/change/").content.decode()

    assert all(job.job_id in page for job in order.jobs.all())
