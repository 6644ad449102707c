"""What a customer may ask for."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from project.shop.models import MOST_PER_ORDER, Order


class OrderForm(forms.ModelForm):  # type: ignore[type-arg]  # none at run time
    """An order for one product; refuses more than the shelf holds now."""

    class Meta:
        model = Order
        fields = ["product", "quantity", "email"]
        widgets = {
            "quantity": forms.NumberInput(attrs={"max": MOST_PER_ORDER}),
            "email": forms.EmailInput(attrs={"autocomplete": "email"}),
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # The field writes its own minimum of zero over the widget's.
        self.fields["quantity"].widget.attrs["min"] = 1

    def clean(self) -> dict[str, Any] | None:
        """Hold the quantity against the stock; the stock job takes it later and checks again."""
        cleaned = super().clean()
        product, quantity = self.cleaned_data.get("product"), self.cleaned_data.get("quantity")
        if product and quantity and quantity > product.stock:
            self.add_error(
                "quantity",
                _("Only %(stock)d of %(product)s left.")
                % {"stock": product.stock, "product": product.name},
            )
        return cleaned
