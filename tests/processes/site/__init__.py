"""A small project whose workers the tests start, stop and kill."""
