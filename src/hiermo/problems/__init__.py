"""What is minimised: losses of n workers over one flat model."""
