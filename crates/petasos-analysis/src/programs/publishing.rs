//! Tools that publish packages, images and releases.

use crate::program::{Program, act};
use crate::rule::Signal::Publish;

pub(super) static PROGRAMS: &[Program] = &[
    act(
        Publish,
        "npm pnpm yarn bun jsr deno",
        "publish|unpublish|deprecate !-n; dist-tag|access|owner !ls|list|get #2; npm publish; \
         workspace ..publish",
    ),
    act(
        Publish,
        "cargo",
        "publish|yank !-n; +* publish|yank !-n; owner !--list; +* owner !--list; \
         release --execute|-x; +* release --execute|-x",
    ),
    act(Publish, "ansible-galaxy", "publish; _ publish"),
    act(Publish, "npm", "pub|publ|publi|publis !-n"),
    act(
        Publish,
        "gradle gradlew",
        "..publish*|*:publish* !-n !..*Local*; ..*uploadArchives|*closeAndReleaseRepository !-n",
    ),
    act(Publish, "twine conda anaconda", "upload"),
    act(Publish, "gem", "push|yank"),
    act(
        Publish,
        "poetry uv flit hatch pdm vsce ovsx lerna mix dart flutter changeset maturin",
        "publish|hex.publish|unpublish !-n; _ publish !-n",
    ),
    act(Publish, "docker podman crane", "push; image|manifest|compose push; --push"),
    act(Publish, "mvn", "..deploy|*:deploy|release:perform"),
    act(Publish, "dotnet nuget", "..push; ..nuget ..delete"),
    act(Publish, "pod", "trunk push|delete"),
    act(Publish, "helm", "push"),
    act(Publish, "luarocks snapcraft cabal stack charmcraft conan", "upload|push|release"),
    act(Publish, "gh glab", "release create|delete|upload|edit; gist create --public"),
    act(Publish, "np semantic-release release-it", "!-n"),
    act(Publish, "goreleaser", "release !--snapshot"),
    act(Publish, "sbt", "..publish*|+publish* !..*Local*"),
    act(Publish, "python python3", "-m=twine ..upload; ..*setup.py ..upload"),
    act(Publish, "npx", "np|semantic-release|release-it; !nx _ publish"),
    act(Publish, "nx", "release publish"),
    act(Publish, "rake", "release"),
    act(Publish, "fastlane", "release|deliver|supply|pilot"),
    act(Publish, "lein", "deploy"),
    act(Publish, "skopeo", "copy _ docker://*"),
    act(Publish, "eas", "submit"),
    act(Publish, "opam buf", "publish|push"),
];
