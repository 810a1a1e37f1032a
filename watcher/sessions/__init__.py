"""AISessions: when their Jobs are made, how they go, and how they end. No stack is ever used for them."""
