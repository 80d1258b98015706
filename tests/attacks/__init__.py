"""What a patch, a history or a job may do to the gate, and what honest people do: one table each."""
