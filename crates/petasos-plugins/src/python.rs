//! The host for plugins that are Python packages with `register(ctx)`. It is part of this program
//! and needs nothing but a `python3`.

/// The host's own text.
const HOST: &str = include_str!("python/host.py");

/// How it is started.
pub(crate) fn argv() -> Vec<String> {
    ["python3", "-X", "utf8", "-c", HOST].map(str::to_owned).into()
}

/// How the installed packages are asked for.
pub(crate) fn packages_argv() -> Vec<String> {
    let mut argv = argv();
    argv.push("--packages".to_owned());
    argv
}
