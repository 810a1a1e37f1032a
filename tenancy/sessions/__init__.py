"""AISessions: their Job, their phase, their order and their capacity. Pure."""
