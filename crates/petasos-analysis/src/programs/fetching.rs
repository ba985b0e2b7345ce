//! Programs that run what they are given an address of.

use crate::program::{Program, act};
use crate::rule::Signal::RemoteCode;

pub(super) static PROGRAMS: &[Program] = &[
    act(RemoteCode, "deno", "run|eval|install|serve http://*|https://*"),
    act(RemoteCode, "npx bunx pnpx", "http://*|https://*|github:*|git+*|gitlab:*"),
    act(RemoteCode, "uvx pipx", "--from|--spec=git+*|http*"),
    act(RemoteCode, "nix-shell", "..http://*|https://*"),
    act(RemoteCode, "pip pip3", "install ..http://*|https://*"),
    act(RemoteCode, "npm pnpm yarn", "install|i|add ..http://*gz|https://*gz"),
    act(RemoteCode, "go", "run *@*"),
    act(RemoteCode, "nix", "run *:*"),
    act(RemoteCode, "msiexec", "@http://*|https://*"),
    act(RemoteCode, "mshta regsvr32", "~http"),
    act(RemoteCode, "rundll32", "~javascript:"),
    act(RemoteCode, "certutil", "@-urlcache"),
    act(RemoteCode, "bitsadmin", "@/transfer"),
    act(RemoteCode, "kubectl", "apply -f|--filename=http://*|https://*"),
];
