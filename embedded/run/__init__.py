"""What `./dev run` starts: a control plane and the watcher on it, for a person to use."""
