//! Package managers of systems.

use crate::program::{Program, act};
use crate::rule::Signal::PackageRemove;

pub(super) static PROGRAMS: &[Program] = &[
    act(PackageRemove, "dpkg", "-r|-P|--remove|--purge|--force-all"),
    act(PackageRemove, "rpm", "-e*|--erase"),
    act(PackageRemove, "pacman yay paru", "-R*|--remove"),
    act(PackageRemove, "emerge", "-C|--unmerge|--depclean|-c"),
    act(PackageRemove, "nix-env", "-e|--uninstall"),
    act(PackageRemove, "nix-collect-garbage", "-d"),
    act(PackageRemove, "xbps-remove pkg_delete do-release-upgrade", ""),
    act(PackageRemove, "pkgutil", "--forget"),
    act(
        PackageRemove,
        "apt apt-get aptitude yum dnf zypper apk brew snap flatpak port pkg winget choco scoop \
         tdnf microdnf guix rpm-ostree opkg swupd eopkg",
        "remove|purge|autoremove|erase|uninstall|del|rm|delete|autopurge|dist-upgrade|\
         full-upgrade|distro-sync|bundle-remove|downgrade|zap",
    ),
];
