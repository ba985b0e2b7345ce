//! What a terminal backend declares about itself.

use std::path::Path;
use std::sync::Arc;

use petasos_contract::environment::{EnvError, Environment};
use petasos_contract::{BoxFuture, Settings};

/// A kind of place where commands run, as its file declares it.
#[derive(Debug)]
pub struct BackendDef {
    /// The name in `terminal.backend`.
    pub name: &'static str,
    /// One line for people.
    pub summary: &'static str,
    /// Whether it could be used with these settings, and why not; asks nobody outside.
    pub usable: fn(&Settings) -> Result<(), String>,
    /// Asks whether such a place would answer, within two seconds and without making anything
    /// that stays; `None` when there is nobody to ask before the first use.
    pub reach: Option<Reach>,
    /// Makes a place of this kind.
    pub open: Open,
}

/// How it is asked whether a place would answer.
pub type Reach = for<'a> fn(Opening<'a>) -> BoxFuture<'a, Result<(), String>>;

/// How a place is made.
pub type Open = for<'a> fn(Opening<'a>) -> BoxFuture<'a, Result<Arc<dyn Environment>, EnvError>>;

/// What a place is made from.
#[derive(Debug, Clone, Copy)]
pub struct Opening<'a> {
    /// The settings of the first call that needs it.
    pub settings: &'a Arc<Settings>,
    /// The folder of this program.
    pub install: Option<&'a Path>,
    /// Which isolation it is for; most share `default`.
    pub task: &'a str,
}

/// Refuses, at compile time, two backends with one name.
pub const fn unique(backends: &[&BackendDef]) {
    let mut left = 0;
    while left < backends.len() {
        assert!(!backends[left].name.is_empty(), "a backend has no name");
        let mut right = left + 1;
        while right < backends.len() {
            assert!(!same(backends[left].name, backends[right].name), "two backends share a name");
            right += 1;
        }
        left += 1;
    }
}

const fn same(left: &str, right: &str) -> bool {
    let (left, right) = (left.as_bytes(), right.as_bytes());
    if left.len() != right.len() {
        return false;
    }
    let mut at = 0;
    while at < left.len() {
        if left[at] != right[at] {
            return false;
        }
        at += 1;
    }
    true
}
