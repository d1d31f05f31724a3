"""The queue of record: claims, leases, the sweep and the workers."""
