//! Sends credentials or the environment to another machine.

use crate::effects::{self, Found};
use crate::flow::call::Call;
use crate::flow::report::Deed;
use crate::flow::value::Taint;
use crate::path;
use crate::rule::{Check, Rule, Signal};

pub(super) static RULE: Rule = Rule {
    key: "credential exfiltration",
    description: "sends credentials or the environment to another machine",
    checks: &[
        Check::Signal(Signal::Exfiltration),
        Check::Call(
            "curl wget nc ncat netcat socat scp rsync sftp ftp ssh telnet http https xh mail \
                mailx sendmail mutt aws gsutil gcloud az rclone dig nslookup host ping gh croc \
                wormhole openssl transfer s3cmd mc ngrok logger tftp swaks magic-wormhole slack \
                telegram-send curlie lftp gist",
            check,
        ),
    ],
    examples: include_str!("exfiltration.txt"),
    ..Rule::ASK
};

fn check(call: &Call<'_>) -> bool {
    let secret = Taint::SECRET.with(Taint::ENVIRONMENT);
    if call.stdin.taint.has(secret.with(Taint::TOKEN))
        || call.args.iter().any(|arg| arg.taint.has(secret))
    {
        return true;
    }
    let holds = |text: &str| {
        // No name of a secret is a bare word.
        if text.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
            return false;
        }
        let path = path::resolve(text, None, &call.facts.home);
        path::is_environment_file(&path)
            || path::is_secret(&path, call.facts)
            || path.starts_with(".ssh/") && !path.ends_with(".pub")
            || path.ends_with("_history")
            || path.ends_with(".kdbx")
    };
    let given = |names: &'static [&'static str]| call.values(names).any(|file| holds(&file.text));
    let reads = |found: &Found| found.deed == Deed::Read && holds(&found.path.text);
    match call.program {
        "sftp" | "ftp" | "lftp" | "tftp" => {
            call.stdin.text.as_deref().is_some_and(|text| {
                text.lines().any(|line| {
                    let mut words = line.split_whitespace();
                    words.next().is_some_and(|verb| verb.ends_with("put")) && words.any(holds)
                })
            }) || sources(call).any(holds)
        }
        "aws" | "gsutil" | "gcloud" | "rclone" | "s3cmd" | "mc" | "az" => sources(call).any(holds),
        "gh" | "croc" | "wormhole" | "gist" => call.files().iter().any(|arg| holds(&arg.text)),
        "mail" | "mailx" | "mutt" => given(&["-a", "-A"]),
        _ => effects::of(call).iter().any(reads) || given(&["-f", "--file", "-a", "--attach"]),
    }
}

/// All operands but the last, which is where they go.
fn sources<'c>(call: &Call<'c>) -> impl Iterator<Item = &'c str> + use<'c> {
    let mut operands = call.files();
    operands.pop();
    operands.into_iter().map(|arg| arg.text.as_str())
}
