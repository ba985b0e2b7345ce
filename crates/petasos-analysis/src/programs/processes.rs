//! Programs that end processes by their name, a port they hold or a query.

use crate::program::{Program, act};
use crate::rule::Signal::ForceKill;

pub(super) static PROGRAMS: &[Program] = &[
    act(ForceKill, "fuser", "-k|--kill"),
    act(ForceKill, "qdel bkill scancel condor_rm oardel canceljob xkill", "#1; @-a*|-u"),
    act(ForceKill, "taskkill", "@/f|/im"),
    act(ForceKill, "stop-process spps", "@-name|-force"),
    act(ForceKill, "wmic", "~process ~delete|terminate"),
];
