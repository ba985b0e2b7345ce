//! Shell text, read for what it plainly is.
//!
//! Its law: text in, answer out; no files, no settings, no judgement. Several engines must agree
//! on these answers, so that none of them has its own reader.
//!
//! | file | what it holds |
//! |---|---|
//! | `reading` | whether a command plainly only reads, and leaves no trace at all |

pub mod reading;
