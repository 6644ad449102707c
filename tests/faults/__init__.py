"""What breaks on the way to a server and inside it, and what must come of it."""
