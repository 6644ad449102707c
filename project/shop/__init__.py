"""Products, orders and the jobs that each order starts."""
