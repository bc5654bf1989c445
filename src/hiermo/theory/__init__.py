"""The formulas of the HierMo paper's analysis, as printed and, where they fail, as we would have them."""
