"""A queue's verbs that views and async tasks await. The plans are those of the blocking queue."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from echomq_app.protocol import calls
from echomq_app.protocol.keyspace import QueueKeys
from echomq_app.protocol.states import Admission, State
from echomq_app.service import pages, plans
from echomq_app.service.queue import instant_ms, whole_ms
from echomq_app.service.records import JobDetails, Page, PageRequest, QueueFacts
from echomq_app.wire.aio import AsyncWire


class AsyncQueue:
    """Admission and reads of one queue, awaited. Promises and errors are those of ``Queue``."""

    def __init__(self, wire: AsyncWire, name: str) -> None:
        self.keys = QueueKeys(name)
        self.name = name
        self.wire = wire

    async def enqueue(self, job_id: str, payload: bytes) -> Admission:
        call = calls.enqueue(self.keys, job_id, payload)
        return await self.wire.follow(plans.admit(self.keys, job_id, payload, call))

    async def enqueue_many(self, jobs: Sequence[tuple[str, bytes]]) -> list[Admission]:
        return await self.wire.follow(plans.admit_many(self.keys, jobs))

    async def schedule_at(self, job_id: str, payload: bytes, at: datetime) -> Admission:
        call = calls.schedule_at(self.keys, job_id, payload, instant_ms(at))
        return await self.wire.follow(plans.admit(self.keys, job_id, payload, call))

    async def schedule_in(self, job_id: str, payload: bytes, delay: timedelta) -> Admission:
        call = calls.schedule_in(self.keys, job_id, payload, whole_ms(delay))
        return await self.wire.follow(plans.admit(self.keys, job_id, payload, call))

    async def state(self, job_id: str) -> State:
        return await self.wire.run(calls.state(self.keys, job_id))

    async def facts(self) -> QueueFacts:
        return QueueFacts(name=self.name, counts=await self.wire.run(calls.counts(self.keys)))

    async def page(self, request: PageRequest) -> Page:
        return await self.wire.follow(pages.page(self.keys, request))

    async def job(self, job_id: str) -> JobDetails:
        return await self.wire.follow(pages.job(self.keys, job_id))
