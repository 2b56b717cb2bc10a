"""What the panel `kind` shows of each of the four kinds: a file for each."""
