"""`./dev bench`: measures the speed and the cost of the watcher, and compares it with other methods."""
