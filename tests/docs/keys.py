"""What each key and each field of a row is for: the words of the key reference."""

from __future__ import annotations

from typing import NamedTuple


class Key(NamedTuple):
    """A key of a queue after ``emq:{q}:``, or of the reserve as it stands."""

    name: str
    type: str
    holds: str
    bound: str


KEYS: tuple[Key, ...] = (
    Key("pending", "zset", "ids that wait; score 0, so their order is mint order", "its jobs"),
    Key("active", "zset", "ids that are leased; score: end of the lease, server ms", "its jobs"),
    Key("schedule", "zset", "ids that are parked; score: run-at, ms", "its jobs"),
    Key("dead", "zset", "ids that had all their attempts; score 0", "its jobs"),
    Key("high", "zset", "reserved for priorities; settled and read, never filled yet", "its jobs"),
    Key("low", "zset", "reserved for priorities; settled and read, never filled yet", "its jobs"),
    Key("job:<id>", "hash", "the row of a job, see below", "lives as long as its job"),
    Key("job:<id>:logs", "list", "log lines, oldest first", "30 days after its last line"),
    Key("job:<id>:errors", "list", "the newest ten errors, newest first", "30 days, ten entries"),
    Key("job:<id>:lock", "string", "a foreign worker's marker; we read it only", "its writer's"),
    Key("job:<id>:dependencies", "string", "how many children a parent waits for", "its row"),
    Key("job:<id>:processed", "hash", "child and result of each completed child", "its row"),
    Key("job:<id>:failed", "hash", "child and error that failed the parent", "its row"),
    Key("job:<id>:unsuccessful", "hash", "child and error that is ignored", "its row"),
    Key(
        "meta",
        "hash",
        "`paused`: with any value nothing is claimed; `concurrency`: how many jobs may run, for "
        "claimers that consult it",
        "two fields",
    ),
    Key("metrics:completed", "hash", "`count`: jobs that were completed", "one field"),
    Key("metrics:failed", "hash", "`count`: jobs that were buried", "one field"),
    Key("metrics:completed:data", "list", "reserved by the reference; we delete it only", "none"),
    Key("metrics:failed:data", "list", "reserved by the reference; we delete it only", "none"),
    Key("metrics:stale", "hash", "`count`: outcomes that were refused as stale", "one field"),
    Key(
        "stale",
        "list",
        "outcomes that were refused, the newest first, as JSON: `at`, `job`, `token`, `label`, "
        "`reason`, `ran_ms`, and of the other claim `other_token`, `other_label`, `overlap_ms`",
        "100, and 30 days after the last",
    ),
    Key("limiter", "string", "the reference's rate counter; we delete it only", "expires"),
    Key("wake", "list", "tokens for parked workers", "64"),
    Key(
        "result:<id>",
        "string",
        "what an ended job left: a receipt (mark, token, end in ms, label), and after a line "
        "break the outcome when one is kept",
        "expires",
    ),
    Key("done", "zset", "ids with an outcome; score 0", "a count a queue"),
    Key("outcomes", "zset", "ids with an outcome; score: when it expires, ms", "a count a queue"),
    Key("expire", "zset", "ids with a receipt or an outcome; score: when it expires, ms", "time"),
    Key("events", "channel", "what becomes of jobs as JSON: `event`, `job`, more", "not kept"),
    Key("g:<group>:pending", "zset", "ids that wait in a lane; score 0", "its jobs"),
    Key("ring", "list", "lanes that can be served, in rotation", "its lanes"),
    Key("gactive", "hash", "how many jobs of a lane run; no field at 0", "its lanes"),
    Key("glimit", "hash", "how many jobs of a lane may run", "its lanes"),
    Key("gweight", "hash", "how many jobs a weighted turn of a lane gives; none: 1", "its lanes"),
    Key("paused", "set", "lanes that are parked", "its lanes"),
    Key("groups", "set", "lanes with jobs that wait or run, as our verbs saw them", "its lanes"),
    Key(
        "repeat",
        "zset",
        "names of the reference's repeats; score: next run, server ms",
        "its names",
    ),
    Key(
        "repeat:<name>", "hash", "a repeat: `every_ms` and `template`", "lives as long as its name"
    ),
    Key(
        "slots", "zset", "names of our schedules; score: when the next slot is due, ms", "its names"
    ),
    Key(
        "slot:<name>", "hash", "a schedule: `template` and `revision`", "lives as long as its name"
    ),
    Key("flow:outbox", "list", "what children tell parents on other queues", "until it is carried"),
    Key("flow:aside", "list", "outbox entries that name no parent, the newest last", "100"),
    Key("de:<did>", "string", "a deduplication key: the id it stands for", "expires"),
    Key(
        "dids",
        "hash",
        "by job id: the deduplication key that stands for it",
        "living keys and a few that expired",
    ),
    Key("", "none", "the base: never exists, names the slot and roots built keys", "none"),
)

BESIDE: tuple[Key, ...] = (
    Key(
        "stream:<name>",
        "stream",
        "records in mint order: the field `id` and the producer's own",
        "whoever trims it",
    ),
    Key("stream:<name>:archived", "string", "the newest record archived elsewhere", "one value"),
)
"""Keys that plain commands touch and no script does."""

RESERVE: tuple[Key, ...] = (
    Key("{emq}:version", "string", "the fence: the data format of this server", "one value"),
    Key("{emq}:nodes", "string", "a counter that hands out node ids for minting", "one value"),
    Key("{emq}:queues", "set", "queues that our producers and workers have used", "its queues"),
    Key(
        "{emq}:workers",
        "set",
        "names of the processes that serve; whoever reads it strikes off those that ended",
        "its workers",
    ),
    Key(
        "{emq}:worker:<name>",
        "string",
        "what a process tells of itself, as JSON: `kind`, `host`, `pid`, `version`, `started_ms`, "
        "`queues`, `slots`, `state`, `running`, `jobs`, `above`",
        "30 seconds, 50 queues, 20 jobs",
    ),
    Key(
        "{emq}:wish:<name>",
        "string",
        "what an operator wishes of it: `quiet`, `serve` or `stop`",
        "an hour",
    ),
)


class Field(NamedTuple):
    """A field of a row: who writes it, and what it says."""

    name: str
    writers: str
    says: str


FIELDS: tuple[Field, ...] = (
    Field("state", "every transition", "where the job is by its own word; the sets decide"),
    Field("attempts", "admission, claims", "how often it was claimed, and the fencing token"),
    Field("payload", "admission, update_data", "opaque bytes; for a Django task the JSON object"),
    Field("last_error", "retry, a child's death", "at most 8 kB; gone after a requeue"),
    Field("group", "admission to a lane, lane_reassign", "the lane that the job belongs to"),
    Field("worker", "claims with a label", "token and label of the newest claim"),
    Field("claimed_at", "claims with a label", "when it was claimed, server ms"),
    Field("settled", "retry, release, delay, requeue", "token, verb and label of that settle"),
    Field("requeued", "requeue", "label of the newest requeue, so that a resend is known"),
    Field("excused", "release, delay, requeue", "claims that do not count as attempts"),
    Field("lapses", "reap", "leases that ran out; gone after a requeue"),
    Field("progress", "progress", "free text"),
    Field("lock", "foreign workers", "a marker that somebody holds the job; we read it only"),
    Field("parent", "flow_add", "the parent of a flow's child"),
    Field("parent_queue", "flow_add", "the parent's queue when it is another one"),
    Field("parent_policy", "flow_add", "`fp`: its death fails the parent; `id`: ignored"),
)
