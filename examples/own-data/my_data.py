"""Data of one's own, by a function: whatever it reads and however, it returns four arrays; hiermo is not imported."""

from sklearn.datasets import load_breast_cancer


def tumours(held_out=100):
    """569 tumours, 30 measurements of each; the first `held_out` are for testing."""
    x, y = load_breast_cancer(return_X_y=True)
    return x[held_out:], y[held_out:], x[:held_out], y[:held_out]
