//! Tests come here.
