"""The errors, warnings and notes of a preview, and the lines of the manifest that cause them."""
