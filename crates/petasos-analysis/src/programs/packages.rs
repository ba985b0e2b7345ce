//! Package managers of systems.

use crate::program::{Program, program};
use crate::rule::Signal::PackageRemove;

pub(super) static PROGRAMS: &[Program] = &[
    program("dpkg", "", &[(PackageRemove, "-r|-P|--remove|--purge|--force-all")]),
    program("rpm", "", &[(PackageRemove, "-e*|--erase")]),
    program("pacman yay paru", "", &[(PackageRemove, "-R*|--remove")]),
    program("emerge", "", &[(PackageRemove, "-C|--unmerge|--depclean|-c")]),
    program("nix-env", "", &[(PackageRemove, "-e|--uninstall")]),
    program("nix-collect-garbage", "", &[(PackageRemove, "-d")]),
    program("xbps-remove pkg_delete do-release-upgrade", "", &[(PackageRemove, "")]),
    program("pkgutil", "", &[(PackageRemove, "--forget")]),
    program(
        "apt apt-get aptitude yum dnf zypper apk brew snap flatpak port pkg winget choco scoop tdnf \
         microdnf guix rpm-ostree opkg swupd eopkg",
        "",
        &[(
            PackageRemove,
            "remove|purge|autoremove|erase|uninstall|del|rm|delete|autopurge|dist-upgrade|full-upgrade|\
             distro-sync|bundle-remove|downgrade|zap",
        )],
    ),
];
