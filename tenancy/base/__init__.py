"""Definitions that all other packages use: names, kinds, quantities, errors and base models."""
