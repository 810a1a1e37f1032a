"""The read-only page that the watcher serves: its data, its live updates, and who may see it."""
