"""What ``emq_worker`` makes of ``--queue`` and ``--order``."""

from __future__ import annotations

import argparse

import pytest
from django.core.management.base import CommandError

from echomq_app.management.arguments import order, queue, weights
from echomq_app.runtime.order import InTurn, Order, Strict, Weighted


@pytest.mark.parametrize(
    ("texts", "choice", "kind"),
    [
        (None, "turns", InTurn),
        (["a", "b"], "turns", InTurn),
        (["a", "b"], "strict", Strict),
        (None, "strict", Strict),
        (["a=5", "b"], "turns", Weighted),
    ],
)
def test_weights_make_a_weighted_order_and_the_option_a_strict_one(
    texts: list[str] | None, choice: str, kind: type[Order]
) -> None:
    assert isinstance(order(texts, ["a", "b"], choice), kind)


def test_a_queue_without_a_weight_has_one_and_a_name_may_hold_the_sign() -> None:
    assert weights(["a=5", "b", "c=d=7"]) == {"a": 5, "b": 1, "c=d": 7}


@pytest.mark.parametrize("text", ["a=0", "a=", "a=1001", "a=x", "a=-1", "a=1.5"])
def test_a_weight_that_is_none_is_refused_with_what_it_may_be(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="from 1 to 1000, such as mail=5; got '"):
        queue(text)


def test_strict_order_and_weights_are_not_both_to_be_had() -> None:
    with pytest.raises(CommandError, match="no use for weights; got --queue a=5 --queue b"):
        order(["a=5", "b"], ["a", "b"], "strict")
