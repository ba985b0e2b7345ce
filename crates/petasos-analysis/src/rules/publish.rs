//! Publishes a package or release to the world.

use crate::rule::{Check, Rule, Signal};

pub(super) static RULE: Rule = Rule {
    key: "package publish",
    description: "publishes a package or release to the world",
    checks: &[Check::Signal(Signal::Publish)],
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
    ..Rule::ASK
};
