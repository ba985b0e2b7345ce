//! Files that this line wrote and that a program reads as a program: named by it, or found by a
//! convention, an option or an import.

use super::call::Call;
use super::engine::Engine;
use super::guess::PLAIN;
use super::value::Arg;
use crate::code::Language;
use crate::shell::Span;
use crate::words::{ends, holds, lists};

/// So many files are looked at.
const FILES_MAX: usize = 64;

/// Parts of names by which a test, a build or a server finds its files.
const ENTRIES: &str = "config test spec file setup main app build index mod conf tasks manage wsgi asgi \
    plugin hook task rc. site extension package";

/// Endings of documents, which nothing runs.
const DOCUMENTS: &str = "\
    .md .txt .rst .log .adoc .csv .html .patch .diff";

const PYTHON: &str = "pip pip3 pytest tox nox gunicorn uvicorn flask hypercorn celery python python3 fab inv \
    invoke scons doit locust mypy ipython streamlit conan waf poetry uv hatch pdm django-admin scrapy \
    airflow jupyter manim robot behave sphinx-build coverage alembic gdb lldb blender mitmproxy mitmdump \
    python2 pypy pypy3 kedro prefect dagster luigi mkdocs pre-commit snakemake nikola lektor";
/// Modules that programs import most: a file of that name beside them comes first.
const SHADOWED: &str = "abc argparse ast asyncio base64 bisect calendar collections copy csv dataclasses \
    datetime decimal email enum functools glob hashlib heapq html http inspect io ipaddress itertools json \
    locale logging math numbers operator os pathlib pickle platform pprint queue random re sched secrets \
    select shutil signal site sitecustomize socket ssl statistics string struct subprocess sys tempfile \
    textwrap threading time token tokenize traceback types typing unittest urllib usercustomize uuid \
    warnings weakref xml yaml requests numpy pandas dotenv";
const JAVASCRIPT: &str = "npx npm yarn pnpm bun gulp grunt jest vitest mocha webpack vite rollup eslint \
    prettier babel node deno tsx ts-node ava tap karma cypress playwright next nuxt astro jasmine \
    esbuild parcel pm2 k6 mongosh mongo metro snowpack gatsby lint-staged commitlint postcss \
    tailwindcss bunx hardhat truffle";
/// Files that a program finds by their name or ending: the language, and who reads them.
const LOADED: &[(&str, &str, Language)] = &[
    (".py", PYTHON, Language::Python),
    (".js", JAVASCRIPT, Language::JavaScript),
    (
        ".mjs",
        "npx npm yarn pnpm bun vite eslint node webpack rollup vitest next",
        Language::JavaScript,
    ),
    (".cjs", "npx npm yarn pnpm bun vite eslint node webpack rollup jest", Language::JavaScript),
    (
        ".ts",
        "npx npm yarn pnpm bun bunx deno tsx ts-node vite vitest playwright jest swc-node node",
        Language::JavaScript,
    ),
    (
        ".rb",
        "rake rspec bundle rails rackup ruby cap thor guard puma brew vagrant chef-apply chef-client minitest irb jekyll chef-solo test-kitchen",
        Language::Ruby,
    ),
    ("Rakefile", "rake bundle", Language::Ruby),
    ("Gemfile", "bundle", Language::Ruby),
    ("Vagrantfile", "vagrant", Language::Ruby),
    ("Guardfile", "guard bundle", Language::Ruby),
    ("Capfile", "cap", Language::Ruby),
    ("Fastfile", "fastlane bundle", Language::Ruby),
    ("Brewfile", "brew", Language::Ruby),
    (".gemspec", "gem bundle", Language::Ruby),
    (".ru", "rackup puma unicorn", Language::Ruby),
    (".php", "php phpunit composer artisan pest psysh", Language::Php),
    (".pl", "prove perl", Language::Perl),
    (".PL", "perl", Language::Perl),
    (".t", "prove", Language::Perl),
    ("SConstruct", "scons", Language::Python),
    ("wscript", "waf", Language::Python),
    ("Snakefile", "snakemake", Language::Python),
    ("Tiltfile", "tilt", Language::Python),
    ("BUILD", "bazel buck please pants", Language::Other),
    (".go", "go mage gotestsum tinygo", Language::Other),
    (".rs", "cargo rustc rust-script", Language::Other),
    (".zig", "zig", Language::Other),
    (".nim", "nim nimble", Language::Other),
    (".nims", "nim nimble", Language::Other),
    (".nimble", "nimble", Language::Other),
    (".cr", "crystal shards", Language::Other),
    (".kts", "gradle gradlew kotlin kotlinc", Language::Other),
    (".kt", "kotlin kotlinc", Language::Other),
    (".gradle", "gradle gradlew", Language::Other),
    (".java", "java jshell jbang", Language::Other),
    (".groovy", "groovy", Language::Other),
    (".scala", "scala scala-cli amm", Language::Other),
    (".sc", "scala scala-cli amm mill", Language::Other),
    (".sbt", "sbt", Language::Other),
    (".swift", "swift swiftc", Language::Other),
    (".cs", "dotnet csharp", Language::Other),
    (".csx", "dotnet csi", Language::Other),
    (".fsx", "dotnet fsharpi", Language::Other),
    (".d", "dmd rdmd dub ldc2", Language::Other),
    (".v", "v", Language::Other),
    (".hs", "runhaskell runghc stack cabal ghc ghci", Language::Other),
    (".ml", "ocaml dune utop", Language::Other),
    (".ex", "elixir mix iex", Language::Other),
    (".exs", "elixir mix iex", Language::Other),
    (".erl", "erl escript erlc rebar3", Language::Other),
    (".clj", "clojure clj bb lein", Language::Other),
    (".cljs", "clojure shadow-cljs lumo", Language::Other),
    (".edn", "clojure clj bb", Language::Other),
    (".lisp", "sbcl clisp ecl", Language::Other),
    (".el", "emacs emacsclient", Language::Other),
    (".scm", "guile racket csi", Language::Other),
    (".rkt", "racket raco", Language::Other),
    (
        ".lua",
        "lua luajit nvim texlua busted wrk love redis-cli lapis premake5 xmake",
        Language::Other,
    ),
    (".jl", "julia", Language::Other),
    (".R", "R r rscript", Language::Other),
    (".Rmd", "r rscript", Language::Other),
    (".qmd", "quarto", Language::Other),
    (".m", "octave matlab", Language::Other),
    (".raku", "raku", Language::Other),
    (".tcl", "tclsh wish expect vivado", Language::Tcl),
    (".ps1", "pwsh powershell", Language::PowerShell),
    (".psm1", "pwsh powershell", Language::PowerShell),
    (".bats", "bats", Language::Shell),
    ("PKGBUILD", "makepkg", Language::Shell),
    ("APKBUILD", "abuild", Language::Shell),
    (".envrc", "direnv", Language::Shell),
    ("configure", "autoreconf", Language::Shell),
    ("Makefile", "make gmake bmake checkmake remake", Language::Make),
    ("GNUmakefile", "make gmake remake", Language::Make),
    (".mk", "make gmake bmake remake", Language::Make),
    ("justfile", "just", Language::Make),
];

/// Endings and names of settings whose readers run commands out of them.
const SETTINGS: &str = "\
    .json .yml .yaml .toml .tf .hcl .cfg .conf .ini .xml .ac .m4 .am .cmake CMakeLists.txt \
    meson.build .ninja .gdb .sql .vim .tex .latex .ms .nix .dhall .jsonnet .rules .service \
    .timer .bazel Dockerfile Procfile Containerfile Earthfile Jenkinsfile Taskfile WORKSPACE \
    .gitconfig .properties rc .mill .lldb .expect .roff .pp .sls .j2 .nse .gp .plt .do .in \
    .dot .opts .params .scr .lftp .ftp .spec .control .exrc";

/// Programs that read settings only to show or check them.
const CHECKERS: &str = "\
    jq yq yamllint jsonlint taplo hadolint actionlint tflint cat xmllint kubeval kubeconform \
    ls code promtool sqlfluff checkov ansible-lint";

/// Programs that only start another command, and builtins that read no file.
const NEUTRAL: &str = "cd pushd popd chmod chown mkdir touch ls rm cp mv ln export set unset sleep true \
    false test [ pwd sync mktemp dirname basename wait time";

impl Engine<'_> {
    /// Files of this line that `call` reads as a program.
    pub(super) fn loaded(&mut self, call: &Call<'_>) -> Vec<(Option<Language>, String)> {
        if self.state.files.is_empty() || lists(CHECKERS, call.program) {
            return Vec::new();
        }
        let plain = call.program != "ssh"
            && (lists(PLAIN, call.program) || lists(super::embedded::DATA, call.program));
        let neutral = plain || lists(NEUTRAL, call.program);
        let named: Vec<String> = call
            .args
            .iter()
            .take(24)
            .flat_map(|arg| arg.text.split(['=', ',', '@', ':']).chain([arg.text.as_str()]))
            .filter(|text| !text.is_empty())
            .map(|text| self.resolve(text))
            .collect();
        let mut found = Vec::new();
        for (path, stream) in self.state.files.iter().take(FILES_MAX) {
            let Some(text) = &stream.text else { continue };
            let name = path.rsplit('/').next().unwrap_or(path);
            let row = LOADED.iter().find(|(ending, _, _)| name.ends_with(ending));
            let reads = row.is_some_and(|(_, readers, _)| lists(readers, call.program));
            let document = ends(DOCUMENTS, name) && name != "CMakeLists.txt";
            let stem = name.split('.').next().unwrap_or(name);
            let about = |arg: &Arg| arg.text.split([':', '.', '/']).any(|part| part == stem);
            let entry = named.contains(path)
                || path.ends_with(".go")
                || row.is_some_and(|(ending, _, _)| !ending.starts_with('.'))
                || holds(ENTRIES, &name.to_ascii_lowercase())
                || path.ends_with(".py") && lists(SHADOWED, stem)
                || call.args.iter().any(about);
            // A name without an ending, or one that is hidden, is found by a convention.
            let found_by_name = ends(SETTINGS, name)
                || call.program == "git" && path.ends_with(".git/config")
                || row.is_none() && is_conventional(name);
            if reads && entry {
                found.push((row.map(|row| row.2), text.clone()));
            } else if !plain && named.contains(path) && !document {
                let language = row.map_or(Language::Other, |row| row.2);
                found.push((Some(language), text.clone()));
            } else if !neutral && found_by_name {
                found.push((row.map(|row| row.2), text.clone()));
            }
        }
        found
    }

    pub(super) fn run_loaded(&mut self, language: Option<Language>, text: &str, span: Span) {
        let before = self.report.analysis.findings.len();
        if let Some(language) = language {
            self.run_code(language, Arg::new(text, span), Vec::new(), span);
        }
        if self.report.analysis.findings.len() == before
            && matches!(language, None | Some(Language::Other | Language::Shell | Language::Ruby))
        {
            self.run_phrases(text, span);
        }
    }
}

/// `PKGBUILD`, `.Rprofile`: names that mean something to some program.
fn is_conventional(name: &str) -> bool {
    !lists("README LICENSE NOTES CHANGELOG TODO AUTHORS COPYING", name)
        && (name.starts_with('.') && name.len() > 2
            || name.len() > 3 && !name.contains('.') && name.starts_with(char::is_uppercase))
}
