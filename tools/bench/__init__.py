"""Side-by-side benchmarks: contestants interleaved in one run on the same files, into the same sink."""
