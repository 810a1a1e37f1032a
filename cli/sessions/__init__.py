"""Reads AISessions and their logs, and formats them for the output of commands."""
