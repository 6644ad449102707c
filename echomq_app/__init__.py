"""EchoMQ for Django: a job queue on Redis or Valkey, at least once, with a fence."""

__version__ = "0.1.0"
