"""The rights of the user: reads what the user may read, and names missing rights and the roles with them."""
