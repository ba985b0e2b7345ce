//! The checks of the house, one file each under `tidy/`.
//!
//! A check is a pure function from the checkout to findings. Exemptions are applied here, once
//! for all, and an exemption that no longer covers anything is a finding itself.

mod calls;
mod families;
mod header;
mod layers;
mod librs;
mod machine;
mod manifests;
mod map;
mod names;
mod reach;
mod sizes;
mod todo;

use crate::finding::Finding;
use crate::house::House;
use crate::rules::covers;

type Check = fn(&House) -> Vec<Finding>;

const CHECKS: &[(&str, Check)] = &[
    ("layers", layers::check),
    ("manifests", manifests::check),
    ("sizes", sizes::check),
    ("names", names::check),
    ("header", header::check),
    ("todo", todo::check),
    ("lib.rs", librs::check),
    ("families", families::check),
    ("calls", calls::check),
    ("reach", reach::check),
    ("machine", machine::check),
    ("map", map::check),
];

/// Everything the checks find, exemptions taken out, sorted by place.
pub(crate) fn findings(house: &House) -> Vec<Finding> {
    let all: Vec<Finding> = CHECKS.iter().flat_map(|(_, check)| check(house)).collect();
    let exempt = |finding: &Finding| {
        let exemptions = house.rules.exemptions.iter();
        exemptions.clone().any(|one| one.check == finding.check && covers(&one.path, &finding.path))
    };
    let mut left: Vec<Finding> = all.iter().filter(|finding| !exempt(finding)).cloned().collect();
    left.extend(idle_exemptions(house, &all));
    left.sort();
    left.dedup();
    left
}

fn idle_exemptions(house: &House, all: &[Finding]) -> Vec<Finding> {
    let known = |name: &str| CHECKS.iter().any(|(check, _)| *check == name);
    let mut found = Vec::new();
    for one in &house.rules.exemptions {
        let what = if !known(&one.check) {
            format!("there is no check named `{}`", one.check)
        } else if one.reason.split_whitespace().count() < 3 {
            format!("the exemption of `{}` gives no reason", one.path)
        } else if all.iter().any(|it| it.check == one.check && covers(&one.path, &it.path)) {
            continue;
        } else {
            format!("the exemption of `{}` from `{}` covers nothing", one.path, one.check)
        };
        let cure = "an exemption is a debt with a reason: correct it or delete it".to_owned();
        found.push(Finding { path: "tidy.toml".into(), line: 1, check: "exempt", what, cure });
    }
    found
}

#[cfg(test)]
mod tests;
