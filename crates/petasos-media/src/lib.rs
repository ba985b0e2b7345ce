//! Pictures, speech and film: what comes in is decoded within limits, what goes out is stored.
