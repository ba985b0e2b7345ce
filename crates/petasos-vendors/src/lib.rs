//! Clients of services that tools speak to, a folder each, over the one network crate.
