//! Bytes in and out, and terminals.

use petasos_contract::environment::{Launch, Process, Size, Stderr, Stdin, Step};
use petasos_contract::terminal::{Command, Ended};

use crate::conformance::{Bed, cases};
use crate::stage::command;

/// Everything a launch writes, and its code.
async fn whole(bed: &Bed, launch: Launch) -> (Vec<u8>, Vec<u8>, i32) {
    let mut process = bed.place().await.spawn(launch, &bed.stage.cx()).await.unwrap();
    drain(&mut *process).await
}

pub(super) async fn drain(process: &mut dyn Process) -> (Vec<u8>, Vec<u8>, i32) {
    let (mut output, mut errors, mut bytes) = (Vec::new(), Vec::new(), Vec::new());
    let (mut code, mut closed) = (None, false);
    while code.is_none() || !closed {
        bytes.clear();
        match process.next(&mut bytes).await.unwrap() {
            Step::Output => output.append(&mut bytes),
            Step::Errors => errors.append(&mut bytes),
            Step::Closed => closed = true,
            Step::Exited(exit) => code = Some(exit.ending.code()),
        }
    }
    (output, errors, code.unwrap())
}

async fn launch(bed: &Bed, script: &str) -> Launch {
    Launch::shell(script, bed.place().await.facts().temp.clone())
}

fn noise(size: usize) -> Vec<u8> {
    let mut state = 7_u32;
    let next = |_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state.to_be_bytes()[0]
    };
    (0..size).map(next).collect()
}

cases! { CASES;
    "letters of all kinds come out as they are" => |bed| {
        let text = "grüße 家 🦀 \u{301}e";
        assert_eq!(bed.stage.output(&format!("echo '{text}'")).await, format!("{text}\n"));
    }
    "every byte comes out as it is" => |bed| {
        let script = "i=0; while [ $i -lt 256 ]; do printf \"\\\\$(printf %03o $i)\"; i=$((i+1)); done";
        let (output, _, code) = whole(bed, launch(bed, script).await).await;
        assert_eq!((output, code), ((0..=255).collect::<Vec<u8>>(), 0));
    }
    "output without a last newline is whole" => |bed| {
        assert_eq!(bed.stage.output("printf abc").await, "abc");
    }
    "output and errors come in the order of writing" => |bed| {
        let output = bed.stage.output("echo 1; echo 2 >&2; echo 3; echo 4 >&2").await;
        assert_eq!(output, "1\n2\n3\n4\n");
    }
    "errors can be kept apart" => |bed| {
        let launch = Launch { stderr: Stderr::Apart, ..launch(bed, "echo out; echo err >&2").await };
        let (output, errors, code) = whole(bed, launch).await;
        assert_eq!((&*output, &*errors, code), (&b"out\n"[..], &b"err\n"[..], 0));
    }
    "output that imitates our own marks is output" => |bed| {
        let fake = "printf '\\036abc:E0 0\\036abc.\\036\\036:'";
        let (output, _, code) = whole(bed, launch(bed, &format!("{fake}; exit 5")).await).await;
        assert_eq!((&*output, code), (&b"\x1eabc:E0 0\x1eabc.\x1e\x1e:"[..], 5));
    }
    "ten megabytes of output are whole" => |bed| {
        let script = "head -c 10485760 /dev/zero | tr '\\0' x";
        let (output, _, code) = whole(bed, launch(bed, script).await).await;
        assert_eq!((output.len(), code), (10_485_760, 0));
        assert!(output.iter().all(|byte| *byte == b'x'));
    }
    "a command without input finds its end at once" => |bed| {
        assert_eq!(bed.stage.output("cat; echo end").await, "end\n");
    }
    "given input is read" => |bed| {
        let given = Command { stdin: Some(b"one\ntwo".to_vec()), ..command("cat; echo .") };
        assert_eq!(bed.stage.run_in(&bed.stage.cx(), given).await.output, "one\ntwo.\n");
    }
    "a megabyte of any bytes goes in and comes out" => |bed| {
        let sent = noise(1_000_000);
        let launch = Launch { stdin: Stdin::Bytes(sent.clone()), ..launch(bed, "cat").await };
        let (output, _, code) = whole(bed, launch).await;
        assert!(code == 0 && output == sent, "{} bytes, code {code}", output.len());
    }
    "open input is read as it comes, until its end" => |bed| {
        let launch = Launch { stdin: Stdin::Open, ..launch(bed, "read a; echo got $a; cat").await };
        let mut process = bed.place().await.spawn(launch, &bed.stage.cx()).await.unwrap();
        let mut input = process.input().unwrap();
        input.write(b"first\n").await.unwrap();
        let mut bytes = Vec::new();
        while !bytes.ends_with(b"got first\n") {
            assert_eq!(process.next(&mut bytes).await.unwrap(), Step::Output);
        }
        input.write(b"second").await.unwrap();
        input.close().await.unwrap();
        let (output, _, code) = drain(&mut *process).await;
        assert_eq!((&*output, code), (&b"second"[..], 0));
    }
    "a command on a terminal has one of the right size" => |bed| {
        let wanted = Command { pty: true, ..command("test -t 0 && test -t 1 && stty size; exit 6") };
        let ran = bed.stage.run_in(&bed.stage.cx(), wanted).await;
        assert_eq!(ran.ended, Ended::Exited(6), "{}", ran.output);
        assert!(ran.output.contains("30 120"), "{}", ran.output);
    }
    "a command on a terminal keeps its session" => |bed| {
        let cx = bed.stage.session("terminal");
        let wanted = Command { pty: true, ..command("cd /etc; export SEEN=1; echo ok") };
        let ran = bed.stage.run_in(&cx, wanted).await;
        assert_eq!(ran.output.trim(), "ok");
        assert_eq!(bed.stage.run_in(&cx, command("pwd; echo $SEEN")).await.output, "/etc\n1\n");
    }
    "a terminal can be typed to and resized" => |bed| {
        // The new size travels beside the bytes: it is waited for where it arrives.
        let script = "read a; echo got $a; i=0; \
            until [ \"$(stty size)\" = '40 100' ] || [ $i -gt 50 ]; do i=$((i+1)); sleep 0.1; done; \
            stty size; exit 3";
        let launch = Launch {
            pty: Some(Size { rows: 20, columns: 90 }),
            stdin: Stdin::Open,
            ..launch(bed, script).await
        };
        let mut process = bed.place().await.spawn(launch, &bed.stage.cx()).await.unwrap();
        let mut input = process.input().unwrap();
        input.write(b"typed\r").await.unwrap();
        let mut bytes = Vec::new();
        while !String::from_utf8_lossy(&bytes).contains("got typed") {
            assert_eq!(process.next(&mut bytes).await.unwrap(), Step::Output);
        }
        process.control().resize(Size { rows: 40, columns: 100 }).await.unwrap();
        let (output, _, code) = drain(&mut *process).await;
        let output = String::from_utf8_lossy(&output).into_owned();
        assert!(output.contains("40 100") && code == 3, "{code}: {output}");
    }
}
