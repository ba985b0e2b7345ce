//! What holds for a key, and why.
