"""AISessions: their Jobs, their status, the order in which they start, and quota checks. No I/O."""
