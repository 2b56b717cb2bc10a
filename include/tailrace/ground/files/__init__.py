"""Files, directories and object stores: paths, atomic writes, locks."""
