"""EchoMQ itself, pure: ids, keys, states, errors, scripts and calls. No I/O."""
