"""The vocabulary that everything else speaks: records, events, the algorithm contract."""
