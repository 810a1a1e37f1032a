"""The warm engine: a Go process that runs the operations on all stacks. Its source is in `engine/`."""
