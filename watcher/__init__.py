"""The watcher. It watches Tenants, reconciles them through a work queue, and writes their status."""
