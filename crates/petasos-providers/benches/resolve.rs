//! How long a resolution takes.

fn main() {}
