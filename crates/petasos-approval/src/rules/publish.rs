//! Publishes a package or release to the world.

use super::{Check, Rule};
use crate::flow::call::Call;
use crate::verdict::Severity;

/// Publishes a package or release to the world.
pub(super) static RULE: Rule = Rule {
    key: "package publish",
    aliases: &[],
    description: "publishes a package or release to the world",
    severity: Severity::Ask,
    checks: &[Check::Call(
        &[
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
            "charmcraft",
            "web-ext",
            "surge",
            "rsconnect",
            "ghp-import",
            "gh-pages",
            "mkdocs",
        ],
        check,
    )],
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
                || first == "npm" && second == "publish"
                || first == "workspace" && has("publish")
        }
        "cargo" => {
            matches!(first, "publish" | "yank" | "owner")
                && !(first == "owner" && call.flag_word("--list"))
        }
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
            call.option(&["-m"]).is_some_and(|module| module.is("twine")) && has("upload")
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
        _ => false,
    }
}
