//! The generated pages of the reference: each is what one command of the program prints.
//!
//! The list is data (`[[page]]` in `tidy.toml`). The program is built first, so a page can never
//! be compared with an older one; without pages nothing is built.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};

use crate::finding::Finding;
use crate::house::{House, program};
use crate::rules::Page;

/// Rewrites the pages that are stale and says which.
pub(crate) fn write(house: &House) -> Result<Vec<String>> {
    let mut written = Vec::new();
    for (page, text) in stale_pages(house)? {
        let path = house.root.join(&page.path);
        let folder = path.parent().context("a page needs a folder")?;
        fs::create_dir_all(folder)?;
        let draft = path.with_extension("draft");
        std::io::Write::write_all(&mut fs::File::create(&draft)?, text.as_bytes())?;
        fs::rename(&draft, &path)?;
        written.push(page.path.clone());
    }
    Ok(written)
}

/// A finding for each page that differs from what the program prints.
pub(crate) fn stale(house: &House) -> Result<Vec<Finding>> {
    let finding = |page: &Page| Finding {
        path: page.path.clone(),
        line: 1,
        check: "docs",
        what: "the generated page is not what the program prints".to_owned(),
        cure: "nobody edits it: run `cargo xtask docs` and commit the file".to_owned(),
    };
    Ok(stale_pages(house)?.iter().map(|(page, _)| finding(page)).collect())
}

fn stale_pages(house: &House) -> Result<Vec<(&Page, String)>> {
    if house.rules.pages.is_empty() {
        return Ok(Vec::new());
    }
    let petasos = build(house)?;
    let mut stale = Vec::new();
    for page in &house.rules.pages {
        let text = print(house, &petasos, page)?;
        let current = fs::read_to_string(house.root.join(&page.path)).unwrap_or_default();
        if current != text {
            stale.push((page, text));
        }
    }
    Ok(stale)
}

fn build(house: &House) -> Result<PathBuf> {
    let arguments = ["build", "--quiet", "--package", "petasos", "--message-format=json"];
    let output = program("cargo", &house.root)
        .args(arguments)
        .stderr(std::process::Stdio::inherit())
        .output()
        .context("cannot start cargo")?;
    if !output.status.success() {
        bail!("`petasos` does not build, so its pages cannot be checked");
    }
    let messages = String::from_utf8_lossy(&output.stdout);
    let mut programs = messages.lines().filter_map(executable);
    programs.next_back().context("cargo named no executable for `petasos`")
}

fn executable(message: &str) -> Option<PathBuf> {
    let message: serde_json::Value = serde_json::from_str(message).ok()?;
    let is_petasos = message.pointer("/target/name")?.as_str()? == "petasos";
    let path = message.get("executable")?.as_str()?;
    is_petasos.then(|| PathBuf::from(path))
}

fn print(house: &House, petasos: &std::path::Path, page: &Page) -> Result<String> {
    // An empty home: a page must not depend on who generates it.
    let home = std::env::temp_dir().join(format!("petasos-docs-{}", std::process::id()));
    let output = program(&petasos.display().to_string(), &house.root)
        .args(&page.command)
        .env_clear()
        .env("HOME", &home)
        .output()
        .with_context(|| format!("cannot run `{}`", petasos.display()))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        bail!("`petasos {}` failed: {said}", page.command.join(" "));
    }
    String::from_utf8(output.stdout).context("a page is not UTF-8")
}
