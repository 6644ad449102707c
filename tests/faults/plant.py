"""A site under faults: its crew of workers, every job it was given, and the books of who did what."""

from __future__ import annotations

import random
import signal
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, cast

from echomq_app.protocol import payload
from echomq_app.protocol.errors import ConnectionLost
from echomq_app.protocol.ids import JobId, Minter
from echomq_app.protocol.replies import Receipt
from echomq_app.protocol.states import Admission, State
from tests.eventually import eventually
from tests.faults.census import census, receipts
from tests.faults.works import journal
from tests.model.view import View
from tests.processes.project import Command, Project, Reachable
from tests.processes.site.journal import Entry

REMEMBERED_S: Final = 3600
PATIENCE_S: Final = 120.0


class Plant(Project):
    """The site with the tasks of ``works``; their journal is a file. ``chance`` decides what is random."""

    def __init__(self, server: Reachable, chance: random.Random, **settings: Any) -> None:
        super().__init__(server, RECEIPT_TTL=REMEMBERED_S, **settings)
        self.chance = chance
        self.jobs: list[JobId] = []
        self.crew: list[Command] = []
        self._everyone: list[Command] = []
        self._mint = Minter()
        self._noted = Path(self.folder / "journal")

    def run(self, *words: str, **environment: str) -> Command:
        ours = {"SITE_APP": "tests.faults.works", journal.PLACE: str(self._noted)}
        command = super().run(*words, **ours, **environment)
        self._everyone.append(command)
        return command

    def hire(self, *words: str, **environment: str) -> Command:
        """One more worker for the crew; it may still be starting."""
        self.crew.append(self.run("emq_worker", *words, **environment))
        return self.crew[-1]

    def admit(self, task: str, *args: Any, count: int = 1) -> list[JobId]:
        """New jobs of a task of ``works``, sent until the server has them all."""
        path = f"tests.faults.works.tasks.{task}"
        self._send(sent := [(one, _encoded(path, args)) for one in self._mint.mint_many(count)])
        return [job for job, _ in sent]

    def admit_short(self, count: int, longest_s: float = 0.02) -> list[JobId]:
        """New jobs that work for random times."""
        path = "tests.faults.works.tasks.work"
        spans = [self.chance.uniform(0, longest_s) for _ in range(count)]
        ids = self._mint.mint_many(count)
        self._send([(one, _encoded(path, (s,))) for one, s in zip(ids, spans, strict=True)])
        return ids

    def _send(self, jobs: list[tuple[JobId, bytes]]) -> None:
        def sent() -> bool:
            try:
                return set(self.queue.enqueue_many(jobs)) == {Admission.ADMITTED}
            except ConnectionLost:
                return False

        eventually(sent, within=PATIENCE_S, every=0.1, message="the admission of new jobs")
        self.jobs += [job for job, _ in jobs]

    def scribble(self, what: str, job: str, token: int) -> None:
        """Put a line into the tasks' journal that no task has written."""
        with self._noted.open("a") as noted:
            noted.write(f"{what} {job} {token} 1\n")

    def journal(self, what: str | None = None) -> list[Entry]:
        return [entry for entry in journal.read(self._noted) if what in (None, entry.what)]

    def ended(self) -> int:
        """How many runs have come to their end; cheap."""
        return self._noted.read_bytes().count(b"end ") if self._noted.exists() else 0

    def wait_for_ends(self, count: int) -> None:
        eventually(lambda: self.ended() >= count, within=PATIENCE_S, message=f"{count} ends")

    def at_work(self) -> list[int]:
        """The processes that hold jobs now."""
        active = cast("list[bytes]", self.client.zrange(self.queue.keys.active, 0, 200))
        rows = [self.queue.keys.row(job.decode()) for job in active]
        labels = cast("list[bytes | None]", [self.client.hget(row, "worker") for row in rows])
        return sorted({int(label.split(b":")[1]) for label in labels if label is not None})

    def census(self) -> list[str]:
        return census(self.client, self.queue.keys, self.jobs)

    def finish(self) -> None:
        """Wait until all is done and everyone has left; the crew is alive until then."""
        self.settle_down()
        for command in self.crew:
            command.ready().send(signal.SIGTERM)
        codes = [command.code() for command in self.crew]
        assert codes == [0] * len(codes), [command.said()[-2000:] for command in self.crew]

    def settle_down(self) -> None:
        """Wait until nothing waits or runs, a job that comes only now included."""
        (last,) = self.admit("work", 0.0)
        eventually(lambda: self.queue.state(last) is State.DONE, within=PATIENCE_S)
        self.wait_until_empty(within=PATIENCE_S)

    def check_books(self, *, history_was_lost: bool = False) -> None:
        """Every job is accounted for: by the queue, by the tasks' journal, by the workers' logs.

        ``history_was_lost``: a server forgot what it had answered, so tokens may be given out again.
        """
        assert self.census() == []
        assert self.contradictions(history_was_lost=history_was_lost) == []

    def contradictions(self, *, history_was_lost: bool = False) -> list[str]:
        """Where the receipts, the tasks' journal and the workers' logs do not agree, in sentences."""
        return list(self._contradictions(history_was_lost))

    def _contradictions(self, history_was_lost: bool) -> Iterator[str]:
        entries = self.journal()
        settled = self.receipts()
        ends = {(entry.job, entry.token, entry.pid) for entry in entries if entry.what == "end"}
        for job, receipt in settled.items():
            holder = int(receipt.label.split(":")[1])
            if (job, receipt.token, holder) not in ends:
                yield f"{job} was settled by {holder} under {receipt.token}, who had not ended it"
        if history_was_lost:
            return
        starts = Counter((one.job, one.token) for one in entries if one.what == "start")
        for (job, token), count in starts.items():
            if count > 1:
                yield f"{job} was run {count} times under token {token}"
        told = [line for each in self._everyone for line in each.lines("job done ")]
        for job, count in Counter(line["job"] for line in told).items():
            if count > 1:
                yield f"{job} was settled {count} times"
        for line in told:
            if str(settled[line["job"]].token) != line["token"]:
                yield f"{line['job']} was settled under {line['token']}, and not by its receipt"

    def receipts(self) -> dict[str, Receipt]:
        """By job: who settled it, of those that are done."""
        return receipts(View.read(self.client, self.queue.keys))

    def reasons(self, jobs: list[JobId]) -> set[str]:
        """The first lines of why these jobs are dead; a job that lives says so."""
        return {self._reason(job) for job in jobs}

    def _reason(self, job: JobId) -> str:
        details = self.queue.job(job)
        if details.state is not State.DEAD or details.fields is None:
            return f"{job} is {details.state}"
        return details.fields["last_error"].decode().splitlines()[0]


def _encoded(path: str, args: tuple[Any, ...]) -> bytes:
    return payload.encode(payload.TaskPayload(task=path, args=args))
