"""Kind `topk`: the k best tuples of each key and window (paper 001)."""
