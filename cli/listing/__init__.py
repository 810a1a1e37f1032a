"""Code for `tenancy list`: the output formats, and the option `--watch`."""
