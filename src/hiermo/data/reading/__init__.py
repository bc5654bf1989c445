"""What readers share: files that are slow or dangerous to decode, and data that users bring along."""
