"""Loops and processes: worker, pump, embedded server. Never imports Django."""
