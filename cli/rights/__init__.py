"""Reads the objects that the user may read, names missing rights, and shows how to grant these rights."""
