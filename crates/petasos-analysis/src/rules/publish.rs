//! Publishes a package or release to the world.

use crate::flow::call::Call;
use crate::rule::{Check, Rule, Signal};
use crate::verdict::Severity;
use crate::words::lists;

pub(super) static RULE: Rule = Rule {
    key: "package publish",
    aliases: &[],
    description: "publishes a package or release to the world",
    severity: Severity::Ask,
    checks: &[
        Check::Signal(Signal::Publish),
        Check::Call("gradle gradlew npm pnpm yarn bun jsr deno", check),
    ],
    matches: &[
        "npm publish --access public",
        "cargo publish",
        "twine upload dist/*",
        "gem push x.gem",
        "poetry publish --build",
        "docker push org/app:latest",
        "npm unpublish x@1",
        "gh release create v1",
        "dotnet nuget push x.nupkg",
        "python3 -m twine upload dist/*",
        "npm --access public publish",
        "cargo +nightly publish --no-verify",
    ],
    passes: &[
        "npm publish --dry-run",
        "cargo package",
        "cargo publish --dry-run",
        "npm pack",
        "docker pull x",
        "gem list",
        "poetry build",
        "gh release list",
        "npm run publish",
    ],
};

/// Tasks of a build that publish, and verbs that are cut short or stand behind options.
fn check(call: &Call<'_>) -> bool {
    if call.long("--dry-run") || call.flag_word("-n") {
        return false;
    }
    match call.program {
        "gradle" | "gradlew" => call.operands().any(|arg| {
            arg.text.rsplit(':').next().is_some_and(|task| {
                task.starts_with("publish") && !task.contains("Local")
                    || lists("uploadArchives closeAndReleaseRepository", task)
            })
        }),
        _ => publishes_behind_options(call),
    }
}

/// `npm --access public publish`, `npm pub`: the verb is not the first word, or cut short.
fn publishes_behind_options(call: &Call<'_>) -> bool {
    let words: Vec<&str> = call.operands().take(4).map(|arg| arg.text.as_str()).collect();
    let at = words.iter().position(|word| {
        *word == "publish"
            || call.program == "npm" && matches!(*word, "pub" | "publ" | "publi" | "publis")
    });
    let options = call.args.first().is_some_and(|arg| arg.text.starts_with('-'));
    at.is_some_and(|at| at == 0 || options && at < 3)
        && !words.iter().any(|word| lists("run run-script test help exec", word))
}
