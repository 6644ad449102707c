"""A model of a queue, and a machine that holds the server against it.

Honest limits, modelled and not hidden:

* A settle by another program carries a token alone. It may settle a later life of the same id, or
  one that is parked; then its row is gone and a ghost stays until promote, reap, claim or remove
  clears it. No producer uses that id before.
* ``remove`` and a late ``pause`` or ``resume`` act on what stands there when they are executed.
* Where the completer left no receipt (another program, a plain complete), or the receipt has
  expired, an admission that is sent again runs the job again.
* The seed's claim reads the pause flag in a round trip of its own.
"""
