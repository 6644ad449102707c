"""Starts and ends the whole demo: server, site, workers, reaper. Nothing in it knows the shop's pages."""
