//! How the other side's key is checked: always, and at least as strictly as the user wants.
//!
//! A key that is seen for the first time is accepted and remembered, and that is said. A key that
//! changed is refused. A configuration that asks for more gets more; one that turns the check off
//! does not, and that is said too.

use std::path::Path;

/// What is asked of ssh, and what a person should know about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Checking {
    strict: Strictness,
    known_hosts: Option<String>,
    /// Where the user's configuration was not followed, in words.
    pub(super) notices: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Strictness {
    AcceptNew,
    /// As the user's configuration says: only keys that are known already.
    Known,
}

impl Default for Checking {
    fn default() -> Self {
        Self { strict: Strictness::AcceptNew, known_hosts: None, notices: Vec::new() }
    }
}

impl Checking {
    /// From what `ssh -G` printed; `own` is the list of keys to use when the configuration has
    /// none that lasts.
    pub(super) fn of(configuration: &str, own: &Path) -> Self {
        let value = |name: &str| {
            configuration.lines().find_map(|line| {
                let (key, value) = line.split_once(' ')?;
                key.eq_ignore_ascii_case(name).then_some(value.trim())
            })
        };
        let mut checking = Self::default();
        match value("stricthostkeychecking") {
            Some("yes" | "true") => checking.strict = Strictness::Known,
            Some("no" | "false" | "off") => checking.notices.push(
                "the ssh configuration turns host key checking off; new keys are accepted, \
                 changed ones refused"
                    .to_owned(),
            ),
            Some(_) | None => {}
        }
        let lists = value("userknownhostsfile").unwrap_or_default();
        let lasting = |file: &str| !matches!(file, "/dev/null" | "none");
        if !lists.is_empty() && !lists.split_whitespace().any(lasting) {
            checking.known_hosts = Some(own.display().to_string());
            checking.notices.push(format!(
                "the ssh configuration forgets host keys; they are kept in `{}`",
                own.display()
            ));
        }
        checking
    }

    /// The options for connecting.
    pub(super) fn options(&self) -> Vec<String> {
        let strict = match self.strict {
            Strictness::AcceptNew => "accept-new",
            Strictness::Known => "yes",
        };
        let mut options = vec![
            format!("StrictHostKeyChecking={strict}"),
            // Both would let a stranger pass as somebody known.
            "NoHostAuthenticationForLocalhost=no".to_owned(),
            "VerifyHostKeyDNS=no".to_owned(),
        ];
        if let Some(file) = &self.known_hosts {
            options.push(format!("UserKnownHostsFile=\"{file}\""));
        }
        options
    }

    /// Whether keys are kept in our own list.
    pub(super) fn keeps_own_list(&self) -> bool {
        self.known_hosts.is_some()
    }

    /// The rule in words, for `backend check`.
    pub(super) fn rule(&self) -> &'static str {
        match self.strict {
            Strictness::AcceptNew => "new host keys are accepted and remembered",
            Strictness::Known => "only known host keys",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_check_is_never_weaker_than_the_default() {
        let rows = [
            ("", "accept-new", false, 0),
            ("stricthostkeychecking ask\nuserknownhostsfile ~/a ~/b\n", "accept-new", false, 0),
            ("stricthostkeychecking accept-new\n", "accept-new", false, 0),
            ("stricthostkeychecking true\n", "yes", false, 0),
            ("StrictHostKeyChecking yes\n", "yes", false, 0),
            ("stricthostkeychecking false\n", "accept-new", false, 1),
            ("stricthostkeychecking off\nuserknownhostsfile /dev/null\n", "accept-new", true, 2),
            ("stricthostkeychecking true\nuserknownhostsfile none\n", "yes", true, 1),
        ];
        for (configuration, strict, own, notices) in rows {
            let checking = Checking::of(configuration, Path::new("/home/x/known hosts"));
            let options = checking.options().join("\n");
            assert!(options.contains(&format!("StrictHostKeyChecking={strict}")), "{options}");
            let wanted = "UserKnownHostsFile=\"/home/x/known hosts\"";
            assert_eq!(options.contains(wanted), own, "{configuration}");
            assert_eq!(checking.notices.len(), notices, "{configuration}");
        }
    }
}
