//! Size is no reason to refuse; nesting and work are bounded.

use petasos_analysis::{Facts, Verdict, judge_command};
use rustix::time::{ClockId, clock_gettime};

/// Seconds of processor time, generous for unoptimised builds; the benchmark has the real figures.
const LIMIT_S: i64 = 8;

/// What this thread has had of the processor: other programs do not count.
fn processor_seconds() -> i64 {
    clock_gettime(ClockId::ThreadCPUTime).tv_sec
}

fn timed(command: &str) -> Verdict {
    let start = processor_seconds();
    let verdict = judge_command(command, &Facts::default()).verdict;
    let took = processor_seconds() - start;
    let beginning: String = command.chars().take(40).collect();
    assert!(took <= LIMIT_S, "took {took} s of processor time: {beginning}…");
    verdict
}

#[test]
fn a_large_document_written_to_an_ordinary_file_is_allowed() {
    let body = "rm -rf / is only text here, $(not run) `either`\n".repeat(11_000);
    assert!(body.len() > 500_000);
    assert_eq!(timed(&format!("cat > notes.txt <<'EOF'\n{body}EOF\n")), Verdict::Allow);
}

#[test]
fn long_lists_are_judged_for_what_they_are() {
    assert_eq!(timed(&"true;".repeat(20_000)), Verdict::Allow);
    assert_eq!(timed(&("true && ".repeat(20_000) + "rm -rf /")), Verdict::Block);
}

fn quoted(text: &str) -> String {
    if text.len() > 100_000 {
        "ls".to_owned()
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}

#[test]
fn nesting_and_multiplication_are_refused_in_time() {
    for command in [
        "$(".repeat(50_000),
        "(".repeat(50_000),
        "{ ".repeat(30_000),
        "`\\`".repeat(20_000),
        "$((".repeat(30_000),
        "${a:-".repeat(20_000),
        "\"$(".repeat(20_000),
        "if ".repeat(30_000),
        "{a,b}".repeat(20_000),
        "eval ".repeat(20_000) + "ls",
        "sudo ".repeat(20_000) + "ls",
        "f() { g; g; }; g() { h; h; }; h() { f2; f2; }; ".to_owned()
            + &"f2() { ls; };".repeat(5_000)
            + "f",
        "a=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa; ".to_owned() + &"a=$a$a;".repeat(200) + "echo $a",
        "for i in 1 2 3 4 5 6 7 8 9; do ".repeat(12) + "ls; " + &"done; ".repeat(12),
        "<<A ".repeat(25_000),
        "'".repeat(100_001),
        "a[".repeat(40_000),
        "x() ".repeat(25_000),
        "case x in ".repeat(10_000),
        format!("rm -rf {}", "a ".repeat(50_000)),
        format!("x=$(sort {})", "a ".repeat(50_000)),
        format!("find {} {}", "a ".repeat(20_000), "-exec rm {} ; ".repeat(4_000)),
        format!("python3 -c '{}'", "f(".repeat(40_000)),
        format!("python3 -c '{}'", "f([".repeat(30_000)),
        format!("psql -c '{}'", "DELETE ".repeat(15_000)),
        format!("psql -c 'DELETE FROM t WHERE {}'", "a OR ".repeat(20_000)),
        format!("x={}; {}", "ab".repeat(128), "echo ${x##*a*a*a*a*c};".repeat(4_000)),
        (0..40).rev().fold("ls".to_owned(), |inner, level| {
            format!(
                "x{level}={}; {}eval \"$x{level}\"{}",
                quoted(&inner),
                "(".repeat(60),
                ")".repeat(60)
            )
        }),
    ] {
        timed(&command);
    }
}

#[test]
fn commands_nested_beyond_the_limit_are_blocked() {
    let deep = format!("{}reboot{}", "$(".repeat(200), ")".repeat(200));
    assert_eq!(timed(&deep), Verdict::Block);
}

#[test]
fn every_shape_made_to_hurt_is_judged_in_time() {
    for (_, command) in crate::shapes::all(20_000) {
        timed(&command);
    }
}
