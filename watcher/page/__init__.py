"""The read-only web page of the watcher: the data that it shows, its live updates, and the login."""
