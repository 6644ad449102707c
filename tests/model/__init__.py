"""Models of a queue and of its schedules, and machines that hold the server against them.

Honest limits, modelled and not hidden:

* A settle by another program carries a token alone. It may settle a later life of the same id, or
  one that is parked; then its row is gone and a ghost stays until promote, reap, claim or remove
  clears it. No producer uses that id before.
* ``remove`` and a late ``pause`` or ``resume`` act on what stands there when they are executed.
* Where the completer left no receipt (another program, a plain complete), or the receipt has
  expired, an admission that is sent again runs the job again.
* The seed's claim reads the pause flag in a round trip of its own.
* A schedule's first writing that arrives again after its removal begins another life of it.
"""
