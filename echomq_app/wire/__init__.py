"""Runs calls: alone, many in one pipeline, awaited. Is handed a client, makes none."""
