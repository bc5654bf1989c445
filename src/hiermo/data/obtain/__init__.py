"""Getting a data set from the web or from a folder, verified before it is in place."""
