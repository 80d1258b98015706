"""What people own, as values: policy, LOCK, fixtures, freezes, pending, and the audit of all of them. Pure."""
