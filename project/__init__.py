"""The demo project: a small shop whose orders run through EchoMQ."""
