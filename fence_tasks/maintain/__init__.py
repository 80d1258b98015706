"""What maintainers do with Invoke: one module a task."""
