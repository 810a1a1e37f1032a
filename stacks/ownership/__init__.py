"""Which process holds a lock, and which cluster uses a backend."""
