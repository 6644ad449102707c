"""Addresses of the shop."""

from __future__ import annotations

from django.urls import path

from project.shop import views

app_name = "shop"
urlpatterns = [
    path("", views.front, name="front"),
    path("orders/<uuid:reference>/", views.order, name="order"),
    path("orders/<uuid:reference>/jobs/", views.order_jobs, name="order-jobs"),
    path("flaky/<int:order_id>/", views.flaky, name="flaky"),
]
