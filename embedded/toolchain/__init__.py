"""The tools the product runs on: found, fetched or built."""
