"""An app whose tasks note in a file what they did: no server's fate touches that."""
