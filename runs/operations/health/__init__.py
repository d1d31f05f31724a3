"""Health, readiness, metrics, and failures of the infrastructure."""
