"""`./dev bench`: measures the time, CPU time and memory that the watcher needs to create and update tenants.

It also measures two other methods for comparison: server-side apply and Pulumi's Automation API.
"""
