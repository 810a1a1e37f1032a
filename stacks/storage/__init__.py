"""Direct access to what a backend stores besides the state: history, and the history of deleted tenants."""
