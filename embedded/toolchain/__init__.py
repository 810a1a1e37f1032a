"""Finds, downloads or builds the tools that the product and its tests use."""
