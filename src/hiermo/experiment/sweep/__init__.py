"""Many runs of one recipe: which they are, where they lie, and the processes that train them."""
