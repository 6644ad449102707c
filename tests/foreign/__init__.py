"""Other programs on the same queue: the seeds word for word, the reference as it is described."""

from __future__ import annotations

from tests.foreign.seeds import SeedClaim, seed_claim, seed_claim2, seed_enqueue

__all__ = ["SeedClaim", "seed_claim", "seed_claim2", "seed_enqueue"]
