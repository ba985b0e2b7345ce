//! For tests of hosted backends: where the stand-ins are, and driving a carrier by hand.

use std::time::Duration;

use petasos_contract::environment::{Ending, Process, Step};

use petasos_terminal::remote::{Captured, Carrier, Order, capture};

/// A value that `scripts/test` tells, or a word on why the test is skipped.
#[expect(clippy::disallowed_methods, reason = "the services tell their addresses by variables")]
pub(crate) fn told(test: &str, service: &str, key: &str) -> Option<String> {
    let name = format!("PETASOS_TEST_{}_{key}", service.to_uppercase());
    let found = std::env::var(&name).ok();
    if found.is_none() {
        petasos_testkit::skip(test, service, &format!("{name} is not set"));
    }
    found
}

pub(crate) fn order(script: &str, arguments: &[&str]) -> Order {
    Order::script(script, arguments)
}

pub(crate) async fn run(carrier: &dyn Carrier, order: Order) -> Captured {
    capture(carrier, order, Duration::from_secs(30)).await.unwrap()
}

/// Reads a program to its end: output, error output, code.
pub(crate) async fn finish(process: &mut dyn Process) -> (Vec<u8>, Vec<u8>, i32) {
    let (mut output, mut errors, mut code, mut closed) = (Vec::new(), Vec::new(), None, false);
    let mut bytes = Vec::new();
    while code.is_none() || !closed {
        bytes.clear();
        let step = tokio::time::timeout(Duration::from_secs(30), process.next(&mut bytes)).await;
        match step.expect("the program says nothing").unwrap() {
            Step::Output => output.append(&mut bytes),
            Step::Errors => errors.append(&mut bytes),
            Step::Closed => closed = true,
            Step::Exited(exit) => code = Some(exit.ending.code()),
        }
    }
    (output, errors, code.unwrap())
}

/// What every hosted carrier must be able to do, whatever is on top of it.
pub(crate) async fn carries(carrier: &dyn Carrier, has_terminals: bool) {
    let said = run(carrier, order("printf 'a\\0\\377'; echo e >&2; exit 7", &[])).await;
    assert_eq!(
        (said.output.as_slice(), said.errors.as_str(), said.code),
        (&b"a\0\xff"[..], "e", 7)
    );
    let said = run(carrier, order("printf %s \"$1\"", &["it's $HOME\n\"x\""])).await;
    assert_eq!(String::from_utf8_lossy(&said.output), "it's $HOME\n\"x\"");
    let mut with_variable = order("printf %s \"$NAME\"", &[]);
    with_variable.variables = vec![("NAME".to_owned(), "va'lue".to_owned())];
    assert_eq!(run(carrier, with_variable).await.output, b"va'lue");
    streams(carrier).await;
    others_are_seen(carrier).await;
    if has_terminals {
        let mut terminal = order("test -t 0 && test -t 1 && stty size", &[]);
        terminal.pty = Some(petasos_contract::environment::Size { rows: 30, columns: 120 });
        let said = run(carrier, terminal).await;
        assert_eq!((String::from_utf8_lossy(&said.output).trim(), said.code), ("30 120", 0));
    }
}

async fn streams(carrier: &dyn Carrier) {
    let big: Vec<u8> = (0..1_500_000_u32).map(|at| (at % 251) as u8).collect();
    let mut echo = order("cat", &[]);
    echo.stdin.clone_from(&big);
    assert!(run(carrier, echo).await.output == big, "large input comes back whole");
    let mut typed = order("read a; echo got:$a; cat; echo end", &[]);
    typed.open = true;
    typed.stdin = b"first\n".to_vec();
    let mut process = carrier.start(typed).await.unwrap();
    let mut input = process.input().unwrap();
    input.write(b"second\n").await.unwrap();
    input.close().await.unwrap();
    let (output, _, code) = finish(&mut *process).await;
    assert_eq!((String::from_utf8_lossy(&output).as_ref(), code), ("got:first\nsecond\nend\n", 0));
}

/// What one start begins, the next one sees and can end; a signal is told as a shell would.
async fn others_are_seen(carrier: &dyn Carrier) {
    let mut sleeper = carrier.start(order("echo $$; exec sleep 60", &[])).await.unwrap();
    let mut line = Vec::new();
    while !line.ends_with(b"\n") {
        let step = tokio::time::timeout(Duration::from_secs(20), sleeper.next(&mut line)).await;
        assert_eq!(step.unwrap().unwrap(), Step::Output);
    }
    let pid = String::from_utf8(line).unwrap().trim().to_owned();
    let killed = run(carrier, order("kill -TERM \"$1\"", &[&pid])).await;
    assert_eq!(killed.code, 0, "{}", killed.errors);
    let (_, _, code) = finish(&mut *sleeper).await;
    assert_eq!(code, Ending::Signal(15).code());
}
