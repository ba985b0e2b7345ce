//! Hands a shell to another machine.

use crate::flow::call::Call;
use crate::flow::value::Taint;
use crate::rule::{Check, Rule, Signal};

pub(super) static RULE: Rule = Rule {
    key: "reverse shell",
    description: "hands a shell to another machine",
    checks: &[
        Check::Signal(Signal::ReverseShell),
        Check::Call(
            "nc ncat netcat socat telnet openssl bash sh zsh mkfifo sbd cryptcat ssh powercat \
                pwncat chisel msfconsole msfvenom rlwrap xterm awk gawk busybox dash ksh lua \
                ngrok cloudflared ztcp",
            check,
        ),
    ],
    examples: include_str!("reverse_shell.txt"),
    ..Rule::ASK
};

fn check(call: &Call<'_>) -> bool {
    let shellish = |text: &str| {
        ["/bin/sh", "/bin/bash", "bash", "sh", "cmd.exe", "/bin/zsh", "powershell.exe"]
            .iter()
            .any(|shell| text.trim_matches(['"', '\'']).starts_with(shell))
    };
    let named = call.operands().any(|value| shellish(&value.text));
    match call.program {
        "nc" | "ncat" | "netcat" | "sbd" | "cryptcat" => {
            call.stdin.taint.has(Taint::SHELL)
                || call
                    .values(&["-e", "--exec", "-c", "--sh-exec"])
                    .any(|value| shellish(&value.text) || value.text.contains("sh"))
                || call.options().any(|arg| {
                    !arg.text.starts_with("--")
                        && arg.text.ends_with('e')
                        && arg.text.len() > 1
                        && named
                })
        }
        _ if call.stdin.taint.has(Taint::SHELL)
            && matches!(call.program, "telnet" | "openssl" | "socat") =>
        {
            true
        }
        "socat" => call.args.iter().any(|arg| {
            let upper = arg.text.to_ascii_uppercase();
            (upper.contains("EXEC:") || upper.contains("SYSTEM:") || upper.contains("SHELL:"))
                && arg.text.to_ascii_lowercase().contains("sh")
        }),
        "bash" | "sh" | "zsh" | "dash" | "ksh" => {
            call.flag_word("-i") && call.stdin.taint.has(Taint::DOWNLOADED)
        }
        "ztcp" => !call.flag('L') && !call.flag('c') && call.operands().count() >= 2,
        "powercat" | "pwncat" | "msfconsole" | "msfvenom" => true,
        "xterm" => call.values(&["-display"]).any(|display| display.text.contains('.')),
        "awk" | "gawk" => call.args.iter().any(|arg| arg.text.contains("/inet/")),
        "ssh" => call.option(&["-R"]).is_some() && call.flag('N') && call.flag('f'),
        _ => false,
    }
}
