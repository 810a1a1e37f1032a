"""Leader election: only one watcher of a cluster changes anything."""
