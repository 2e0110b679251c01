"""Pictures of plans: text, programs, documentation."""
