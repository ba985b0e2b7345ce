//! Changes or gets round the agent's own rules, consents or records through its own program.

use crate::flow::call::Call;
use crate::own_program;
use crate::rule::{Check, Rule, Signal};

pub(super) static RULE: Rule = Rule {
    key: "change to agent policy",
    description: "changes or gets round the agent's own rules, consents or records",
    checks: &[Check::Call(own_program::CALLED, check), Check::Signal(Signal::OwnPolicy)],
    matches: &[
        "petasos --set approvals.mode=off term 'ls'",
        "petasos --home ~/.petasos config set approvals.mode off",
        "~/.cargo/bin/petasos --json approval grant rm",
        "petasos approval answer abcdefghijklmnop yes",
        "HERMES_YOLO_MODE=1 petasos term ls",
        "env PETASOS_YOLO_MODE=true make test",
        "export HERMES_ACCEPT_HOOKS=1",
        "PETASOS_HOME=/tmp/x petasos tools list",
        "$(readlink /proc/$PPID/exe) --set approvals.mode=off term 'ls'",
        "/proc/4711/exe config set approvals.mode off",
        "cp $(which petasos) /tmp/x; /tmp/x --accept-hooks run hi",
        "petasos hooks approve",
        "petasos plugins install ./p",
        "petasos mcp add x -- bash -c id",
        "petasos import hermes",
        "petasos sessions delete latest",
        "petasos rollback restore 3",
        "hermes --yolo",
    ],
    passes: &[
        "petasos --help",
        "petasos doctor",
        "petasos approval list",
        "petasos approval waiting",
        "petasos config get approvals.mode",
        "petasos import hermes --dry-run",
        "petasos term ls",
        "petasos run 'config set approvals.mode off'",
        "helm upgrade web ./chart --set image.tag=1",
        "$HELM upgrade web ./chart --set image.tag=1",
        "PETASOS_HOME=/tmp/x cargo test",
        "HERMES_YOLO_MODE=0 hermes chat",
        "echo petasos --set approvals.mode=off",
    ],
    ..Rule::ASK
};

fn check(call: &Call<'_>) -> bool {
    let words: Vec<&str> = call.args.iter().map(|arg| arg.text.as_str()).collect();
    own_program::change(&words).is_some()
}
