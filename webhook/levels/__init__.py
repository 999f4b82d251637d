"""The policy file: what of it is in force, read, watched and described by a schema."""
