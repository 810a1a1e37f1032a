"""Resource usage of tenants: reads the metrics of pods, and records the usage of ResourceQuotas over time."""
