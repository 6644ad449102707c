"""Round trips on real servers: what is sent, what is sent again, what an answer means."""
