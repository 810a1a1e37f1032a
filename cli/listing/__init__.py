"""For `tenancy list`: the output formats, and the watch for changed rows."""
