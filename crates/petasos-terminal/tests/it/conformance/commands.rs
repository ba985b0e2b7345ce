//! How commands end, where they are and what they know.

use petasos_contract::terminal::Ended;

use crate::conformance::cases;
use crate::stage::{CANARY, at, command};

cases! { CASES;
    "a command that succeeds ends with 0" => |bed| {
        let ran = bed.stage.run("echo hello").await;
        assert_eq!((ran.output.as_str(), ran.ended), ("hello\n", Ended::Exited(0)));
    }
    "every exit code comes back" => |bed| {
        for code in [1, 2, 42, 125, 126, 127, 128, 255] {
            let ran = bed.stage.run(&format!("sh -c 'exit {code}'")).await;
            assert_eq!(ran.ended, Ended::Exited(code));
        }
    }
    "exit in the command is its code" => |bed| {
        assert_eq!(bed.stage.run("echo a; exit 3; echo b").await.ended, Ended::Exited(3));
    }
    "an unknown program ends with 127" => |bed| {
        assert_eq!(bed.stage.run("no-such-program-here").await.ended, Ended::Exited(127));
    }
    "text that is no command ends with an error" => |bed| {
        let ran = bed.stage.run("if then fi (").await;
        assert!(matches!(ran.ended, Ended::Exited(code) if code != 0), "{ran:?}");
    }
    "set -e ends the command at its fault" => |bed| {
        let ran = bed.stage.run("set -e; false; echo never").await;
        assert_eq!((ran.output.as_str(), ran.ended), ("", Ended::Exited(1)));
    }
    "exec replaces the shell" => |bed| {
        let ran = bed.stage.run("exec sh -c 'echo last; exit 7'").await;
        assert_eq!((ran.output.as_str(), ran.ended), ("last\n", Ended::Exited(7)));
    }
    "a signal to a child shows as 128 and its number" => |bed| {
        assert_eq!(bed.stage.run("sh -c 'kill -9 $$'").await.ended, Ended::Exited(137));
        assert_eq!(bed.stage.run("sh -c 'kill -15 $$'").await.ended, Ended::Exited(143));
    }
    "a signal to the shell itself shows too" => |bed| {
        for _ in 0..3 {
            assert_eq!(bed.stage.run("kill -9 $$").await.ended, Ended::Exited(137));
        }
    }
    "a user's own exit trap runs" => |bed| {
        let ran = bed.stage.run("trap 'echo bye' EXIT; echo hi").await;
        assert!(ran.output.starts_with("hi\n"), "{}", ran.output);
        assert!(ran.output.contains("bye"), "{}", ran.output);
        assert_eq!(ran.ended, Ended::Exited(0));
    }
    "commands begin where the place says" => |bed| {
        let cx = bed.stage.session("begins");
        let ran = bed.stage.run_in(&cx, command("pwd")).await;
        assert_eq!(ran.output.trim(), bed.place().await.facts().cwd.to_string());
    }
    "cd is kept for the next command" => |bed| {
        let cx = bed.stage.session("cd");
        bed.stage.run_in(&cx, command("cd /etc")).await;
        assert_eq!(bed.stage.run_in(&cx, command("pwd")).await.output, "/etc\n");
    }
    "cd before exit and after a fault is kept" => |bed| {
        let cx = bed.stage.session("cd-exit");
        bed.stage.run_in(&cx, command("cd /etc; exit 4")).await;
        assert_eq!(bed.stage.run_in(&cx, command("pwd")).await.output, "/etc\n");
        bed.stage.run_in(&cx, command("cd /; false")).await;
        assert_eq!(bed.stage.run_in(&cx, command("pwd")).await.output, "/\n");
    }
    "names with blanks, quotes and letters of all kinds can be entered" => |bed| {
        let cx = bed.stage.session("names");
        let name = format!("{}/it's a \"höme\" 家 $x", bed.folder);
        let made = format!("mkdir -p '{}'", name.replace('\'', "'\\''"));
        bed.stage.run_in(&cx, command(&made)).await;
        let ran = bed.stage.run_in(&cx, at(&name, "pwd")).await;
        assert_eq!(ran.output.trim_end(), name);
        let moved = format!("cd '{}'", name.replace('\'', "'\\''"));
        bed.stage.run_in(&cx, command(&moved)).await;
        let ran = bed.stage.run_in(&cx, command("pwd")).await;
        assert_eq!(ran.output.trim_end(), name);
    }
    "a call can name its directory" => |bed| {
        let cx = bed.stage.session("workdir");
        assert_eq!(bed.stage.run_in(&cx, at("/etc", "pwd")).await.output, "/etc\n");
        assert_eq!(bed.stage.run_in(&cx, at("/", "pwd")).await.output, "/\n");
    }
    "a directory that is not there is said and nothing runs" => |bed| {
        let marker = format!("{}/ran", bed.folder);
        let ran = bed.stage.run_in(&bed.stage.cx(), at("/no/such", &format!("touch {marker}"))).await;
        assert!(matches!(ran.ended, Ended::NoCwd(_)), "{ran:?}");
        assert_eq!(bed.stage.run(&format!("test -e {marker}")).await.ended, Ended::Exited(1));
    }
    "exports are kept, plain variables are not" => |bed| {
        let cx = bed.stage.session("exports");
        bed.stage.run_in(&cx, command("export KEPT=1; PLAIN=2")).await;
        let ran = bed.stage.run_in(&cx, command("echo ${KEPT-no} ${PLAIN-no}")).await;
        assert_eq!(ran.output, "1 no\n");
    }
    "an unset variable stays unset" => |bed| {
        let cx = bed.stage.session("unset");
        bed.stage.run_in(&cx, command("export GONE=1")).await;
        bed.stage.run_in(&cx, command("unset GONE")).await;
        assert_eq!(bed.stage.run_in(&cx, command("echo ${GONE-no}")).await.output, "no\n");
    }
    "values of every kind are kept as they are" => |bed| {
        let cx = bed.stage.session("values");
        let value = "two\nlines 'single' \"double\" $HOME `x` \\ back\ttab é家";
        let quoted = value.replace('\'', "'\\''");
        bed.stage.run_in(&cx, command(&format!("export ODD='{quoted}'"))).await;
        let ran = bed.stage.run_in(&cx, command("printf '%s|' \"$ODD\"")).await;
        assert_eq!(ran.output, format!("{value}|"));
    }
    "sessions do not see each other" => |bed| {
        let (one, two) = (bed.stage.session("own-1"), bed.stage.session("own-2"));
        bed.stage.run_in(&one, command("cd /etc; export MINE=1")).await;
        let ran = bed.stage.run_in(&two, command("echo ${MINE-no}; pwd")).await;
        assert!(ran.output.starts_with("no\n") && !ran.output.contains("/etc\n"), "{}", ran.output);
    }
    "no secret of ours is in a command's environment" => |bed| {
        let output = bed.stage.output("env; cat /proc/$$/environ 2>/dev/null | tr '\\0' '\\n'").await;
        assert!(!output.contains(CANARY) && !output.contains("SERVICE_TOKEN"), "{output}");
    }
    "a command of 200 kB runs" => |bed| {
        let long = "x".repeat(200_000);
        let ran = bed.stage.run(&format!(": {long}\necho done")).await;
        assert_eq!((ran.output.as_str(), ran.ended), ("done\n", Ended::Exited(0)));
    }
    "wait in a command waits for its own children only" => |bed| {
        let ran = bed.stage.run("sleep 0.2 & wait; echo waited").await;
        assert_eq!((ran.output.as_str(), ran.ended), ("waited\n", Ended::Exited(0)));
    }
    "the result says where it ran" => |bed| {
        let ran = bed.stage.run("true").await;
        assert_eq!(ran.target, bed.place().await.facts().target);
    }
}
