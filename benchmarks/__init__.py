"""How fast this project is beside its peers: one server, one machine, one run.

``python -m benchmarks`` measures, ``python -m benchmarks.page`` writes the page.
"""
