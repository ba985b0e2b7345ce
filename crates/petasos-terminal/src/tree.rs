//! Processes of this machine as the program sees them: who descends from whom, and whether a
//! number still means the process it meant.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::os::fd::OwnedFd;

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

/// When a process began, in the kernel's ticks since the machine did. Together with the number it
/// means one process only.
pub fn start_time(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, fields) = stat.rsplit_once(") ")?;
    let fields: Vec<&str> = fields.split(' ').collect();
    // The dead who wait to be reaped run no more.
    if matches!(*fields.first()?, "Z" | "X") {
        return None;
    }
    fields.get(19)?.parse().ok()
}

/// Whether a process still runs. The first one of a container that is being killed stays listed until
/// the last of the others is gone, though nothing of the container runs any more.
pub(crate) fn runs(pid: u32) -> bool {
    /// The kernel's mark of a process that ends.
    const EXITING: u32 = 4;
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let Some((_, fields)) = stat.rsplit_once(") ") else { return false };
    let mut fields = fields.split(' ');
    let ended = fields.next().is_none_or(|state| matches!(state, "Z" | "X"));
    let flags = fields.nth(5).and_then(|flags| flags.parse::<u32>().ok()).unwrap_or(EXITING);
    !ended && flags & EXITING == 0
}

/// Every living descendant of a process.
pub(crate) fn descendants(root: u32) -> Vec<u32> {
    let mut children: HashMap<u32, Vec<u32>> = HashMap::new();
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    for entry in entries.flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        if let Some(parent) = parent_of(pid) {
            children.entry(parent).or_default().push(pid);
        }
    }
    let (mut found, mut at) = (vec![root], 0);
    while let Some(pid) = found.get(at).copied() {
        found.extend(children.remove(&pid).unwrap_or_default());
        at += 1;
    }
    found.remove(0);
    found
}

fn parent_of(pid: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, fields) = stat.rsplit_once(") ")?;
    let mut fields = fields.split(' ');
    if matches!(fields.next()?, "Z" | "X") {
        return None;
    }
    fields.next()?.parse().ok()
}

/// A handle on exactly the process that had this number and this start; `None` when it is gone.
pub(crate) fn handle(pid: u32, started: u64) -> io::Result<Option<OwnedFd>> {
    let Some(number) = i32::try_from(pid).ok().and_then(Pid::from_raw) else { return Ok(None) };
    let handle = match pidfd_open(number, PidfdFlags::empty()) {
        Ok(handle) => handle,
        Err(rustix::io::Errno::SRCH) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    // Looked at after the handle is ours: the number cannot pass to another process unnoticed.
    Ok((start_time(pid) == Some(started)).then_some(handle))
}

/// Asks a process to end.
pub(crate) fn terminate(handle: &OwnedFd) -> io::Result<()> {
    Ok(pidfd_send_signal(handle, Signal::TERM)?)
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command, Stdio};
    use std::time::{Duration, Instant};

    use super::*;

    #[expect(clippy::disallowed_methods, reason = "the processes are what this is about")]
    fn start(words: &[&str]) -> Child {
        let mut command = Command::new(words[0]);
        command.args(&words[1..]).stdin(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    }

    fn send(pid: u32, signal: Signal) {
        let pid = Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
        rustix::process::kill_process(pid, signal).unwrap();
    }

    fn is_stopped(pid: u32) -> bool {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        stat.rsplit_once(") ").is_some_and(|(_, fields)| fields.starts_with('T'))
    }

    fn eventually<T>(mut look: impl FnMut() -> Option<T>) -> T {
        let deadline = Instant::now() + Duration::from_mins(1);
        loop {
            if let Some(found) = look() {
                return found;
            }
            assert!(Instant::now() < deadline);
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    #[test]
    fn the_first_process_of_a_container_that_is_being_killed_runs_no_more() {
        if !rustix::process::geteuid().is_root() {
            let why = "only root makes namespaces everywhere";
            petasos_testkit::skip("the_first_process_of_a_container", "root", why);
            return;
        }
        let mut container = start(&["unshare", "--pid", "--fork", "sleep", "300"]);
        let child = |of: u32| eventually(|| descendants(of).first().copied());
        let first = child(container.id());
        let words = ["nsenter", "--target", &first.to_string(), "--pid", "sleep", "301"];
        let mut guest = start(&words);
        let last = child(guest.id());
        assert!(runs(first) && runs(last));
        // Whoever is stopped reaps nobody, so that the container cannot come to its end.
        send(guest.id(), Signal::STOP);
        eventually(|| is_stopped(guest.id()).then_some(()));
        send(first, Signal::KILL);
        eventually(|| start_time(last).is_none().then_some(()));
        assert!(start_time(first).is_some(), "it is listed for as long as the last one is");
        assert!(!runs(first));
        send(guest.id(), Signal::CONT);
        guest.wait().unwrap();
        container.wait().unwrap();
    }
}
