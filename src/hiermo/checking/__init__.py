"""What every algorithm, ours or yours, must keep to, as checks that can be run."""
