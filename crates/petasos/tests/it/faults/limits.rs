//! Few descriptors and few processes: it works, or it says what it lacks, and nothing stays.

use std::time::Duration;

use petasos_testkit::{Home, skip};
use serde_json::json;

use super::model::{Asked, Model, Piece, calls, text};
use super::started::{Started, gone, shell};
use super::{figure, sized};

fn work(asked: &Asked) -> Vec<Piece> {
    if asked.results() == 0 {
        return calls(&[("terminal", json!({ "command": "echo it ran" }))]);
    }
    let ran = asked.body["messages"].to_string().contains("it ran\\\\n");
    text(if ran { "ran" } else { "refused" })
}

#[test]
fn few_descriptors_are_enough_or_told_and_nothing_stays() {
    let model = Model::new(work);
    let mut rows = Vec::new();
    let few = [6, 8, 10, 12, 14, 15, 16, 17, 20, 24, 32, 48, 64, 128, 200, 201, 202, 256];
    let some = [8, 14, 16, 24, 64, 128, 202];
    for limit in sized(&some[..], &few[..]) {
        let home = Home::temp();
        model.is_used_by(&home, "approvals: {mode: 'off'}\n");
        let line = format!("ulimit -n {limit}; petasos run go");
        let ended = Started::new(shell(&home, &line)).end(Duration::from_mins(2));
        assert_eq!(ended.signal, None, "{limit} descriptors: {}", ended.stderr);
        gone(home.user(), &format!("{limit} descriptors"));
        let said = ended.stdout.trim();
        assert!(
            ended.code == Some(0) || !ended.stderr.trim().is_empty() || *limit < 10,
            "{limit} descriptors: {:?} without a word",
            ended.code
        );
        if *limit >= 64 {
            assert_eq!((ended.code, said), (Some(0), "ran"), "{limit}: {}", ended.stderr);
        }
        rows.push(format!("{limit} {}", if said.is_empty() { "told" } else { said }));
    }
    figure("few descriptors", &rows.join(", "));
}

#[test]
fn few_processes_are_enough_or_told_and_nothing_stays() {
    if !rustix::process::getuid().is_root() {
        skip("few processes", "root", "only root can become a user of its own");
        return;
    }
    let model = Model::new(work);
    let mut rows = Vec::new();
    let all = [1, 4, 7, 8, 9, 10, 12, 16, 32];
    let some = [2, 16];
    for (index, limit) in sized(&some[..], &all[..]).iter().enumerate() {
        let home = Home::temp();
        model.is_used_by(&home, "approvals: {mode: 'off'}\nterminal: {sandbox: 'off'}\n");
        // A user of its own, so that only its own processes are counted.
        let user = 41_234 + std::process::id() % 20_000 + u32::try_from(index).expect("few rows");
        // A copy that this user can reach, wherever the build has its output.
        let line = format!(
            "chown -R {user}:{user} ~; chmod 755 ~; cp {} ~/program\nexec setpriv --reuid {user} \
             --regid {user} --clear-groups prlimit --nproc={limit} ~/program run go",
            super::started::PROGRAM
        );
        let ended = Started::new(shell(&home, &line)).end(Duration::from_mins(3));
        if ended.stderr.contains("setpriv: ")
            || ended.stderr.contains("prlimit: ")
            || ended.stderr.contains("Permission denied")
        {
            skip("few processes", "user", ended.stderr.trim());
            return;
        }
        assert_eq!(ended.signal, None, "{limit} processes hang: {}", ended.stderr);
        gone(home.user(), &format!("{limit} processes"));
        let said = ended.stdout.trim();
        let word = if said.is_empty() { "told" } else { said };
        rows.push(format!("{limit} {word} {:.1} s", ended.took.as_secs_f64()));
    }
    figure("few processes", &rows.join(", "));
}
