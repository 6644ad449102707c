"""The house's own checks: what no tool of the trade looks at."""
