"""One method for each thing that can happen to a queue, and the read side."""
