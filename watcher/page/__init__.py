"""The read-only web page of the watcher, with its data, live updates and login."""
