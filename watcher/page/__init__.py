"""The read-only web page of the watcher: its data, live updates and login."""
