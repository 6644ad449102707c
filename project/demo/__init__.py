"""Starts and ends the whole demo: server, site, workers, reaper."""
