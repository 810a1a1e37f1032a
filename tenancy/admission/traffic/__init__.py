"""Admission policies for objects that route or allow traffic, or that claim hosts and addresses."""
