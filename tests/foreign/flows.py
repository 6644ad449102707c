"""Flows as another program speaks them (protocol 4.12): a parent that waits for its children.

Written from the description; our own product settles such jobs and has no verb that makes one yet.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from echomq_app.protocol.keyspace import QueueKeys
from tests.foreign.seeds import Speaker, say

ENQUEUE_FLOW = """
local parent_row, dependencies, pending = KEYS[1], KEYS[2], KEYS[3]
local parent, payload, count = ARGV[1], ARGV[2], tonumber(ARGV[3])
for i = 0, count do
  if string.sub(i == 0 and parent or ARGV[2 + i * 2], 1, 3) ~= 'JOB' then
    return redis.error_reply('EMQKIND job id must be JOB-namespaced')
  end
end
for i = 1, count do
  redis.call('HSET', KEYS[3 + i], 'state', 'pending', 'attempts', '0',
    'payload', ARGV[3 + i * 2], 'parent', parent)
  redis.call('ZADD', pending, 0, ARGV[2 + i * 2])
end
redis.call('HSET', parent_row, 'state', 'awaiting_children', 'attempts', '0', 'payload', payload)
redis.call('SET', dependencies, count)
return count
"""

HOLD_PARENT = """
if string.sub(ARGV[1], 1, 3) ~= 'JOB' then
  return redis.error_reply('EMQKIND job id must be JOB-namespaced')
end
redis.call('HSET', KEYS[1], 'state', 'awaiting_children', 'attempts', '0', 'payload', ARGV[2])
redis.call('SET', KEYS[2], ARGV[3])
return 1
"""

ENQUEUE_CHILD = """
local id, payload, parent, parent_queue = unpack(ARGV)
if string.sub(id, 1, 3) ~= 'JOB' then
  return redis.error_reply('EMQKIND job id must be JOB-namespaced')
end
redis.call('HSET', KEYS[1], 'state', 'pending', 'attempts', '0', 'payload', payload,
  'parent', parent)
if parent_queue ~= '' then redis.call('HSET', KEYS[1], 'parent_queue', parent_queue) end
redis.call('ZADD', KEYS[2], 0, id)
return 1
"""

DELIVER = """
local dependencies, processed, row, base = unpack(KEYS)
local child, result, parent = unpack(ARGV)
if redis.call('HSETNX', processed, child, result) == 1
  and redis.call('DECR', dependencies) <= 0 then
  redis.call('ZADD', base .. 'pending', 0, parent)
  redis.call('HSET', row, 'state', 'pending')
end
return 1
"""

FAIL_DELIVER = """
local dependencies, failed, unsuccessful, row, base = unpack(KEYS)
local child, reason, policy, parent = unpack(ARGV)
if policy == 'fp' then
  if redis.call('HSETNX', failed, child, reason) == 1 then
    redis.call('HSET', row, 'state', 'dead')
    redis.call('ZADD', base .. 'dead', 0, parent)
    redis.call('ZREM', base .. 'pending', parent)
  end
elseif redis.call('HSETNX', unsuccessful, child, reason) == 1
  and redis.call('DECR', dependencies) <= 0 then
  redis.call('ZADD', base .. 'pending', 0, parent)
  redis.call('HSET', row, 'state', 'pending')
end
return 1
"""


def flow_add(
    client: Speaker, queue: str, parent: tuple[str, str], children: Mapping[str, str]
) -> int:
    """A parent and its children on one queue; how many children wait."""
    keys = QueueKeys(queue)
    row = keys.row(parent[0])
    names = (row, row + ":dependencies", keys.pending, *map(keys.row, children))
    words = [word for child in children.items() for word in child]
    return int(say(client, ENQUEUE_FLOW, names, (*parent, len(children), *words)))


def hold_parent(client: Speaker, queue: str, job_id: str, payload: str, children: int) -> None:
    """A parent whose children live on other queues."""
    row = QueueKeys(queue).row(job_id)
    say(client, HOLD_PARENT, (row, row + ":dependencies"), (job_id, payload, children))


def enqueue_child(
    client: Speaker, queue: str, child: tuple[str, str], parent: str, parent_queue: str = ""
) -> None:
    """A child, of a parent on ``parent_queue`` when that is another one."""
    keys = QueueKeys(queue)
    say(client, ENQUEUE_CHILD, (keys.row(child[0]), keys.pending), (*child, parent, parent_queue))


def fail_policy(client: Any, queue: str, job_id: str, policy: str) -> None:
    """``fp``: a dead child fails its parent; ``id``: its death is ignored."""
    client.hset(QueueKeys(queue).row(job_id), "parent_policy", policy)


def sweep_outbox(client: Any, queue: str, most: int = 100) -> int:
    """Deliver what children on ``queue`` tell parents elsewhere; how many entries."""
    outbox = QueueKeys(queue).base + "flow:outbox"
    entries = client.lrange(outbox, 0, most - 1)
    for entry in entries:
        deliver(client, entry.decode())
    client.ltrim(outbox, len(entries), -1)
    return len(entries)


def deliver(client: Speaker, entry: str) -> None:
    """Deliver one entry of an outbox; a second delivery changes nothing."""
    words = entry.split("\0")
    if words[0]:
        parent_queue, parent, child, result = entry.split("\0", 3)
        keys = QueueKeys(parent_queue)
        row = keys.row(parent)
        names = (row + ":dependencies", row + ":processed", row, keys.base)
        say(client, DELIVER, names, (child, result, parent))
    else:
        _, _, parent_queue, parent, child, policy, reason = entry.split("\0", 6)
        keys = QueueKeys(parent_queue)
        row = keys.row(parent)
        subkeys = (row + ":dependencies", row + ":failed", row + ":unsuccessful")
        say(client, FAIL_DELIVER, (*subkeys, row, keys.base), (child, reason, policy, parent))
