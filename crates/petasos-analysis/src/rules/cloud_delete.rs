//! Deletes resources of a cloud account.

use crate::flow::call::Call;
use crate::flow::value::Arg;
use crate::rule::{Check, Rule, Signal};
use crate::words::{begins, ends, lists};

pub(super) static RULE: Rule = Rule {
    key: "cloud resource deletion",
    description: "deletes resources of a cloud account",
    checks: &[
        Check::Signal(Signal::CloudDelete),
        Check::Call("curl http https xh wget curlie hurl", deletes_remote),
        Check::Call(
            "aws gcloud az bq doctl heroku fly flyctl vercel netlify wrangler firebase sam \
             serverless sls eksctl linode-cli hcloud ibmcloud oci s3cmd mc az.cmd railway \
             render supabase scw vultr-cli aliyun openstack consul copilot eb amplify cf civo \
             exo neonctl pscale stripe atlas s5cmd b2 upctl exoscale crossplane azcopy \
             cloudcli ocm rosa",
            check,
        ),
    ],
    examples: include_str!("cloud_delete.txt"),
    ..Rule::ASK
};

fn check(call: &Call<'_>) -> bool {
    let rehearsed = "--dry-run --dryrun --what-if -dry-run help -help --dry-run=true";
    if call.args.iter().any(|arg| lists(rehearsed, &arg.text)) {
        return false;
    }
    let most = if lists("rosa ocm oci ibmcloud openstack", call.program) { usize::MAX } else { 6 };
    // What follows a verb that only looks is a name.
    let mut verbs = call.operands().take(most).take_while(|arg| !looks(&arg.text));
    verbs.any(|arg| deletes(&arg.text)) || sync_deletes(call)
}

fn looks(word: &str) -> bool {
    lists("list ls describe show", word) || begins("describe- list- get-", word)
}

/// A `DELETE` request to another machine.
fn deletes_remote(call: &Call<'_>) -> bool {
    let away = |arg: &Arg| {
        arg.text.starts_with(":9200")
            || (arg.text.contains("://") || arg.text.starts_with("api.")) && !is_local(&arg.text)
    };
    has_method(call, "delete") && call.args.iter().any(away)
}

/// Whether a request is made with this method: by an option, or as the first word.
pub(super) fn has_method(call: &Call<'_>, method: &str) -> bool {
    let named = call.values(&["-X", "--request", "--method"]).chain(call.clustered('X'));
    named.chain(call.operands().next().cloned()).any(|verb| verb.text.eq_ignore_ascii_case(method))
}

/// Whether an address is of this machine, or of one that only this network knows.
fn is_local(text: &str) -> bool {
    let place = text.split_once("://").map_or(text, |(_, rest)| rest);
    let host = place.split(['/', '?']).next().unwrap_or_default();
    let host = host.rsplit('@').next().unwrap_or_default();
    let name =
        if host.starts_with('[') { host } else { host.split(':').next().unwrap_or_default() };
    lists("localhost 0.0.0.0", name)
        || name.is_empty()
        || begins("127. [::1]", name)
        || ends(".local .test .localhost", name)
}

fn sync_deletes(call: &Call<'_>) -> bool {
    call.flag_word("sync") && call.args.iter().any(|arg| arg.text.starts_with("--delete"))
        || call.flag_word("mirror") && call.flag_word("--remove")
        || call.program == "mc" && call.flag_word("--force") && call.flag_word("rm")
}

/// Verbs that take something away, and how longer ones begin.
const DELETES: &str = "rm rb destroy delete remove purge terminate deprovision drop wipe reset del undeploy \
    disable nuke teardown";
const STEMS: &str = "delete- terminate- destroy- remove- deregister- purge- detach- disable- stop- revoke- \
    cancel- batch-delete force-delete reset- empty- reboot- release-address schedule-key-deletion";

/// A verb that takes something away, alone or at the head of a longer one.
fn deletes(word: &str) -> bool {
    let lower = word.to_ascii_lowercase();
    if lower.contains('/') || lower.contains('.') && !lower.contains(':') {
        return false;
    }
    let tail = lower.rsplit(':').next().unwrap_or_default();
    lists(DELETES, tail) || begins(STEMS, tail)
}
