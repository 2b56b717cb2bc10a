"""What tests share: oracles, drawn input, runs, real parts, fakes, the console's bed, and how the suite runs."""
