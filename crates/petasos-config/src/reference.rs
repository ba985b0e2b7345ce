//! The generated reference of keys and variables.
