"""Types that mypy checks: each silenced line is an error, or the silence itself is one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from echomq_app.compat import Task, TaskResult, task_backends

if TYPE_CHECKING:
    from tests.django.site.tasks import add

    add.enqueue("one")  # type: ignore[arg-type]  # text for a number
    add.enqueue(1, left=2)  # type: ignore[misc]  # no such argument
    add.enqueue(1, 2, 3)  # type: ignore[call-arg]  # one too many
    wrong: TaskResult[str] = add.enqueue(1)  # type: ignore[assignment]  # it returns a number


def test_a_task_keeps_the_types_of_its_function(site: Any, run: Any) -> None:
    from tests.django.site.tasks import add

    named: Task[..., int] = add
    result: TaskResult[int] = add.enqueue(1, right=2)
    value: int | None = run(result).return_value

    assert (value, named.name) == (3, "add")
    assert task_backends["default"].get_result(result.id).return_value == 3
