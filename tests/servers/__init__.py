"""Real servers for tests: each private to the process that started it, none on a public port."""
