//! Publishes a package or release to the world.

use super::{Check, Rule, Signal};
use crate::flow::call::Call;
use crate::verdict::Severity;

/// Publishes a package or release to the world.
pub(super) static RULE: Rule = Rule {
    key: "package publish",
    aliases: &[],
    description: "publishes a package or release to the world",
    severity: Severity::Ask,
    checks: &[
        Check::Signal(Signal::Publish),
        Check::Call(
            &[
                "ansible-galaxy",
                "npm",
                "pnpm",
                "yarn",
                "cargo",
                "twine",
                "gem",
                "poetry",
                "uv",
                "flit",
                "hatch",
                "pdm",
                "docker",
                "podman",
                "mvn",
                "gradle",
                "gradlew",
                "dotnet",
                "nuget",
                "pod",
                "helm",
                "vsce",
                "ovsx",
                "conda",
                "anaconda",
                "mix",
                "dart",
                "flutter",
                "luarocks",
                "jsr",
                "deno",
                "lerna",
                "changeset",
                "nx",
                "np",
                "semantic-release",
                "release-it",
                "goreleaser",
                "gh",
                "glab",
                "snapcraft",
                "cabal",
                "stack",
                "sbt",
                "crane",
                "python",
                "python3",
                "npx",
                "bun",
                "rake",
                "setup.py",
                "maturin",
                "wrangler",
                "vercel",
                "netlify",
                "firebase",
                "eas",
                "fastlane",
                "opam",
                "cpan-upload",
                "clojars",
                "lein",
                "skopeo",
                "charmcraft",
                "web-ext",
                "surge",
                "rsconnect",
                "ghp-import",
                "gh-pages",
                "mkdocs",
            ],
            check,
        ),
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

fn check(call: &Call<'_>) -> bool {
    if call.long("--dry-run")
        || call.flag_word("-n") && call.program != "npx"
        || call.flag_word("--dry-run=client")
    {
        return false;
    }
    package(call) || artefact(call) || release(call)
}

/// Package managers of one language.
fn package(call: &Call<'_>) -> bool {
    let first = call.operand(0);
    let second = call.operand(1);
    let has = |word: &str| call.operands().any(|arg| arg.is(word));
    match call.program {
        "npm" | "pnpm" | "yarn" | "bun" | "jsr" | "deno" => {
            matches!(first, "publish" | "unpublish" | "deprecate" | "dist-tag" | "access" | "owner")
                && !(matches!(first, "dist-tag" | "access" | "owner")
                    && matches!(second, "ls" | "list" | "" | "get"))
                || publishes_behind_options(call)
                || first == "npm" && second == "publish"
                || first == "workspace" && has("publish")
        }
        "cargo" => {
            let verb = if first.starts_with('+') { second } else { first };
            matches!(verb, "publish" | "yank" | "owner")
                && !(verb == "owner" && call.flag_word("--list"))
                || verb == "release" && (call.flag_word("--execute") || call.flag_word("-x"))
        }
        "ansible-galaxy" => call.operands().take(2).any(|arg| arg.is("publish")),
        "twine" => first == "upload",
        "gem" => matches!(first, "push" | "yank"),
        "poetry" | "uv" | "flit" | "hatch" | "pdm" | "vsce" | "ovsx" | "lerna" | "mix" | "dart"
        | "flutter" | "changeset" | "maturin" => {
            matches!(first, "publish" | "hex.publish" | "unpublish") || second == "publish"
        }
        _ => false,
    }
}

/// Images, built archives and packages of systems.
fn artefact(call: &Call<'_>) -> bool {
    let first = call.operand(0);
    let second = call.operand(1);
    let has = |word: &str| call.operands().any(|arg| arg.is(word));
    match call.program {
        "docker" | "podman" | "crane" => {
            matches!(first, "push")
                || matches!(first, "image" | "manifest" | "compose") && second == "push"
                || call.flag_word("--push")
        }
        "mvn" => call.operands().any(|arg| {
            arg.is("deploy") || arg.text.ends_with(":deploy") || arg.is("release:perform")
        }),
        "gradle" | "gradlew" => call.operands().any(|arg| {
            arg.text.rsplit(':').next().is_some_and(|task| {
                task.starts_with("publish") && !task.contains("Local")
                    || task == "uploadArchives"
                    || task == "closeAndReleaseRepository"
            })
        }),
        "dotnet" | "nuget" => has("push") || has("delete") && has("nuget"),
        "pod" => first == "trunk" && matches!(second, "push" | "delete"),
        "helm" => matches!(first, "push"),
        "conda" | "anaconda" => first == "upload",
        "luarocks" | "snapcraft" | "cabal" | "stack" | "charmcraft" => {
            matches!(first, "upload" | "push" | "release")
        }
        _ => false,
    }
}

/// Releases, and tools that publish through another one.
fn release(call: &Call<'_>) -> bool {
    let first = call.operand(0);
    let second = call.operand(1);
    let has = |word: &str| call.operands().any(|arg| arg.is(word));
    match call.program {
        "gh" | "glab" => {
            first == "release" && matches!(second, "create" | "delete" | "upload" | "edit")
                || first == "gist" && second == "create" && call.flag_word("--public")
        }
        "np" | "semantic-release" | "release-it" => true,
        "goreleaser" => first == "release" && !call.flag_word("--snapshot"),
        "sbt" => call
            .operands()
            .any(|arg| arg.text.starts_with("publish") && !arg.text.contains("Local")),
        "python" | "python3" => {
            call.values(&["-m"]).any(|module| module.is("twine")) && has("upload")
                || call.operands().any(|arg| arg.text.ends_with("setup.py")) && has("upload")
        }
        "npx" => {
            matches!(first, "np" | "semantic-release" | "release-it")
                || second == "publish" && !matches!(first, "nx")
        }
        "nx" => first == "release" && second == "publish",
        "rake" => first == "release",
        "fastlane" => matches!(first, "release" | "deliver" | "supply" | "pilot"),
        "lein" => first == "deploy",
        "skopeo" => {
            first == "copy"
                && call.operands().last().is_some_and(|arg| arg.text.starts_with("docker://"))
        }
        "eas" => first == "submit",
        _ => false,
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
        && !words
            .iter()
            .any(|word| matches!(*word, "run" | "run-script" | "test" | "help" | "exec"))
}
