"""One file a contender: its job, and how jobs are sent, as its documentation shows it."""
