"""Speaks the steps of a golden trace through our calls, and answers as the trace does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from echomq_app.protocol import calls
from echomq_app.protocol.errors import InvalidInput, NotMonotonic, Stale, WrongKind
from echomq_app.protocol.states import Admission, Completion, JobSet, State
from echomq_app.service.flow_tree import FlowJob
from echomq_app.service.flows import Flows
from tests.eventually import eventually
from tests.protocol.scene import Scene

OK = "ok"
RAISED = "raise"
GONE = ["error", "gone"]


class Speaker:
    """One queue; ``say`` runs a step and gives its reply in the trace's words."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.keys = scene.keys

    def say(self, verb: str, *words: Any) -> Any:
        """The reply of a step; what the host refuses is ``raise``."""
        step: Callable[..., Any] = getattr(self, verb)
        try:
            return step(*words)
        except WrongKind:
            return ["error", "kind"]
        except Stale:
            return ["error", "stale"]
        except NotMonotonic:
            return ["error", "nonmonotonic"]
        except InvalidInput:
            return RAISED

    def enqueue(self, job_id: str, payload: str) -> Any:
        admission = self.scene.run(calls.enqueue(self.keys, job_id, payload.encode()))
        return [OK, "enqueued" if admission is Admission.ADMITTED else "duplicate"]

    def enqueue_many(self, *words: str) -> Any:
        jobs = [
            (job_id, text.encode()) for job_id, text in zip(words[::2], words[1::2], strict=True)
        ]
        said: dict[Admission, Any] = {
            Admission.ADMITTED: "enqueued",
            Admission.DUPLICATE: "duplicate",
            Admission.WRONG_KIND: ["error", "kind"],
        }
        return [OK, [said[one] for one in self.scene.run(calls.enqueue_many(self.keys, jobs))]]

    def enqueue_in(self, job_id: str, payload: str, delay_ms: int) -> Any:
        self.scene.queue.schedule_in(job_id, payload.encode(), timedelta(milliseconds=delay_ms))
        return [OK, "scheduled"]

    def enqueue_at(self, job_id: str, payload: str, at_ms: int) -> Any:
        at = datetime.fromtimestamp(at_ms / 1000, UTC)
        self.scene.queue.schedule_at(job_id, payload.encode(), at)
        return [OK, "scheduled"]

    def claim(self, lease_ms: int) -> Any:
        held = self.scene.queue.claim(timedelta(milliseconds=lease_ms))
        return [OK, [held.job_id, held.payload.decode(), held.token]] if held else "empty"

    def complete(self, job_id: str, token: int, result: str | None = None) -> Any:
        call = calls.complete(self.keys, job_id, token)
        if result is not None:
            call = replace(call, args=(*call.args, "", "", 0, result))
        return OK if self.scene.run(call) is Completion.COMPLETED else GONE

    def retry(self, job_id: str, token: int, delay_ms: int, most: int, error: str) -> Any:
        call = calls.retry(
            self.keys, job_id, token, delay_ms=delay_ms, max_attempts=most, error=error
        )
        return [OK, str(self.scene.run(call))]

    def extend(self, job_id: str, token: int, lease_ms: int) -> Any:
        return OK if self.scene.run(calls.extend(self.keys, job_id, token, lease_ms)) else GONE

    def promote(self, batch: int) -> Any:
        return [OK, self.scene.run(calls.promote(self.keys, batch))]

    def reap(self) -> Any:
        return [OK, self.scene.run(calls.reap(self.keys))]

    def browse(self, limit: int) -> Any:
        return [OK, self.scene.queue.browse(limit)]

    def pending_size(self) -> Any:
        return [OK, self.scene.queue.pending_size()]

    def pause(self) -> Any:
        self.scene.queue.pause()
        return OK

    def resume(self) -> Any:
        self.scene.queue.resume()
        return OK

    def paused(self) -> Any:
        return self.scene.queue.is_paused()

    def counts(self, *names: str) -> Any:
        for name in names:
            if name not in list(JobSet):
                return ["error", ["unknown_state", name]]
        told = self.scene.queue.facts().counts
        wanted = ("active", "completed", "dead", "failed", "pending", "schedule")
        return [OK, {name: getattr(told, name) for name in wanted}]

    def state(self, job_id: str) -> Any:
        return [OK, str(self.scene.queue.state(job_id))]

    def job(self, job_id: str) -> Any:
        details = self.scene.queue.job(job_id)
        if details.fields is None:
            assert details.state is State.ABSENT
            return "absent"
        return [OK, {name: value.decode() for name, value in details.fields.items()}]

    def update_progress(self, job_id: str, text: str) -> Any:
        return OK if self.scene.queue.progress(job_id, text) else GONE

    def add_log(self, job_id: str, line: str, keep: int | None = None) -> Any:
        count = self.scene.queue.add_log(job_id, line, keep)
        return GONE if count is None else [OK, count]

    def logs(self, job_id: str) -> Any:
        return [OK, self.scene.queue.logs(job_id)]

    def sleep(self, ms: int) -> Any:
        until = self.scene.server_ms() + ms
        return OK if eventually(lambda: self.scene.server_ms() >= until) else RAISED

    def raw(self, *words: str) -> Any:
        reply = self.scene.client.execute_command(*words)
        return [OK, "OK" if reply is True else reply]

    def update_data(self, job_id: str, payload: str) -> Any:
        return OK if self.scene.queue.update_data(job_id, payload.encode()) else GONE

    def repeat_register(self, name: str, every_ms: int, template: str, first_ms: int) -> Any:
        call = calls.repeat_register(
            self.keys, name, every_ms=every_ms, template=template.encode(), first_ms=first_ms
        )
        return [OK, "registered" if self.scene.run(call) else "exists"]

    def lane_enqueue(self, group: str, job_id: str, payload: str) -> Any:
        call = calls.lane_enqueue(self.keys, group, job_id, payload.encode())
        admission = self.scene.run(call)
        return [OK, "enqueued" if admission is Admission.ADMITTED else "duplicate"]

    def lane_claim(self, lease_ms: int) -> Any:
        for held in self.scene.lanes.claim(timedelta(milliseconds=lease_ms)):
            return [OK, [held.job_id, held.payload.decode(), held.token, held.lane]]
        return "empty"

    def lane_pause(self, group: str) -> Any:
        self.scene.lanes.pause(group)
        return OK

    def lane_resume(self, group: str) -> Any:
        self.scene.lanes.resume(group)
        return OK

    def lane_depth(self, group: str) -> Any:
        return [OK, self.scene.lanes.depth(group)]

    def lane_depths(self, *groups: str) -> Any:
        return [OK, self.scene.lanes.depths(groups)]

    def flow_add(self, parent: str, payload: str, *words: str) -> Any:
        children = [
            FlowJob(job_id=child, payload=text.encode())
            for child, text in zip(words[::2], words[1::2], strict=True)
        ]
        flow = FlowJob(
            job_id=parent, payload=payload.encode(), queue=self.scene.name, children=children
        )
        Flows(self.scene.wire).add(flow)
        return [OK, [parent, [child.job_id for child in children]]]

    def flow_dependencies(self, parent: str) -> Any:
        return [OK, Flows(self.scene.wire).children(self.scene.name, parent).left]

    def flow_children_values(self, parent: str) -> Any:
        found = Flows(self.scene.wire).children(self.scene.name, parent).values
        return [OK, {child: text.decode() for child, text in found.items()}]

    def stream_append(self, name: str, record_id: str, field: str, value: str) -> Any:
        return [OK, self.scene.stream(name).append({field: value}, record_id)]

    def stream_read(self, name: str) -> Any:
        found = self.scene.stream(name).read()
        return [
            OK,
            [
                [one.record_id, {key: value.decode() for key, value in one.fields.items()}]
                for one in found
            ],
        ]
