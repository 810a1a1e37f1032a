"""Reads the objects that the user may read, reports missing rights, and shows how to grant them."""
