//! Tools that publish packages, images and releases.

use crate::program::{Program, program};
use crate::rule::Signal::Publish;

pub(super) static PROGRAMS: &[Program] = &[
    program(
        "npm pnpm yarn bun jsr deno",
        "",
        &[(
            Publish,
            "publish|unpublish|deprecate !-n; dist-tag|access|owner !ls|list|get #2; npm publish; \
             workspace ..publish",
        )],
    ),
    program(
        "cargo",
        "",
        &[(
            Publish,
            "publish|yank !-n; +* publish|yank !-n; owner !--list; +* owner !--list; \
             release --execute|-x; +* release --execute|-x",
        )],
    ),
    program("ansible-galaxy", "", &[(Publish, "publish; _ publish")]),
    program("twine", "", &[(Publish, "upload")]),
    program("gem", "", &[(Publish, "push|yank")]),
    program(
        "poetry uv flit hatch pdm vsce ovsx lerna mix dart flutter changeset maturin",
        "",
        &[(Publish, "publish|hex.publish|unpublish !-n; _ publish !-n")],
    ),
    program("docker podman crane", "", &[(Publish, "push; image|manifest|compose push; --push")]),
    program("mvn", "", &[(Publish, "..deploy|*:deploy|release:perform")]),
    program("dotnet nuget", "", &[(Publish, "..push; ..nuget ..delete")]),
    program("pod", "", &[(Publish, "trunk push|delete")]),
    program("helm", "", &[(Publish, "push")]),
    program("conda anaconda", "", &[(Publish, "upload")]),
    program("luarocks snapcraft cabal stack charmcraft", "", &[(Publish, "upload|push|release")]),
    program("gh glab", "", &[(Publish, "release create|delete|upload|edit; gist create --public")]),
    program("np semantic-release release-it", "", &[(Publish, "!-n")]),
    program("goreleaser", "", &[(Publish, "release !--snapshot")]),
    program("sbt", "", &[(Publish, "..publish* !..*Local*")]),
    program("python python3", "", &[(Publish, "-m=twine ..upload; ..*setup.py ..upload")]),
    program("npx", "", &[(Publish, "np|semantic-release|release-it; !nx _ publish")]),
    program("nx", "", &[(Publish, "release publish")]),
    program("rake", "", &[(Publish, "release")]),
    program("fastlane", "", &[(Publish, "release|deliver|supply|pilot")]),
    program("lein", "", &[(Publish, "deploy")]),
    program("skopeo", "", &[(Publish, "copy _ docker://*")]),
    program("eas", "", &[(Publish, "submit")]),
    program("opam buf", "", &[(Publish, "publish|push")]),
];
