//! Writes system configuration or programs.

use crate::flow::report::{Deed, Touch};
use crate::path::{self, Target};
use crate::rule::{Check, Rule};

pub(super) static RULE: Rule = Rule {
    key: "write to system configuration",
    aliases: &[
        "write to /etc",
        "tee to system config",
        "copy into system config",
        "in-place edit of system config",
    ],
    description: "writes system configuration or programs",
    checks: &[Check::Touch(check)],
    matches: &[
        "echo x > /etc/hosts",
        "echo evil | tee /etc/passwd",
        "cp evil.conf /etc/nginx/nginx.conf",
        "sudo sed -i 's/a/b/' /etc/ssh/sshd_config",
        "truncate -s 0 /etc/hosts",
        "ln -sf /tmp/x /etc/resolv.conf",
        "rsync hosts root@web:/etc/hosts",
        "docker cp evil.conf web:/etc/nginx/nginx.conf",
        r#"python3 -c "open('/etc/hosts','a').write('x')""#,
    ],
    passes: &[
        "cat /etc/hosts",
        "cp /etc/nginx/nginx.conf ./nginx.conf.sample",
        "diff /etc/fstab fstab.new",
        "echo x > out.txt",
    ],
    ..Rule::ASK
};

fn check(touch: &Touch<'_>) -> bool {
    touch.deed == Deed::Write
        && (touch.target == Target::SystemConfig
            || touch.target == Target::SystemFile
            || touch.elevated && path::is_system_area(touch.path)
            || path::is_vital(touch.path, touch.facts) && touch.path == "/")
}
