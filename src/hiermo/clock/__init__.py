"""What a plan costs: bytes, and later seconds."""
