//! Who asks for a password: a helper that `sudo` itself started, and that nobody else listens to.

use std::fs;
use std::path::{Path, PathBuf};

use crate::supervised::stat;

/// Deeper than any tree of commands.
const ANCESTORS_MAX: usize = 512;

/// A helper below a real `sudo` of ours.
#[derive(Debug)]
pub(super) struct Caller {
    helper: u32,
    sudo: u32,
}

impl Caller {
    /// Looks at the helper; says why it is not to be answered.
    pub(super) fn of(helper: u32) -> Result<Self, &'static str> {
        let proc = Path::new("/proc");
        let (_, sudo) = stat(proc, helper).ok_or("it is gone")?;
        let (name, _) = stat(proc, sudo).ok_or("its parent is gone")?;
        // Only a program with the set-user-ID bit runs as root here; the name tells which.
        if name != "(sudo)" || effective_user(sudo) != Some(0) {
            return Err("its parent is not sudo");
        }
        if !descends(sudo, std::process::id()) {
            return Err("its sudo was not started by a command of this program");
        }
        Ok(Self { helper, sudo })
    }

    /// The process number of its `sudo`.
    pub(super) fn sudo(&self) -> u32 {
        self.sudo
    }

    /// Whether what it prints goes to a pipe that no program of this user reads, and no other reads
    /// the answer. What `sudo` has open is root's, and not seen here.
    pub(super) fn still_reads_alone(&self, reply: &Path) -> Result<(), &'static str> {
        let output =
            fs::read_link(format!("/proc/{}/fd/1", self.helper)).map_err(|_| "it is gone")?;
        if !output.to_string_lossy().starts_with("pipe:[") {
            return Err("its output does not go to sudo");
        }
        let us = std::process::id();
        for process in processes().filter(|process| *process != self.helper) {
            for open in descriptors(process) {
                if open == output || (open == reply && process != us) {
                    return Err("another program listens");
                }
            }
        }
        Ok(())
    }
}

fn processes() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

fn descriptors(process: u32) -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir(format!("/proc/{process}/fd")).into_iter().flatten().flatten();
    entries.filter_map(|entry| fs::read_link(entry.path()).ok())
}

fn effective_user(process: u32) -> Option<u32> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("Uid:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

fn descends(mut process: u32, ancestor: u32) -> bool {
    for _ in 0..ANCESTORS_MAX {
        if process == ancestor {
            return true;
        }
        match stat(Path::new("/proc"), process) {
            Some((_, above)) if above != 0 => process = above,
            _ => return false,
        }
    }
    false
}
