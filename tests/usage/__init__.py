"""This folder is a package, so that package-scoped fixtures end after its last test.

Even an idle cluster uses CPU.
"""
