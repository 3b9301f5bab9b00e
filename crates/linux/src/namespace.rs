//! Namespaces (namespaces(7)): a user namespace in which an ordinary user is root, a
//! PID namespace whose processes all end with its first one, a mount namespace with
//! its own `/etc/hosts`, and a network namespace for each node. None of them has a
//! name in the file system, so nothing is left behind.

use super::{Call, OsError};
use nix::errno::Errno;
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sched::{CloneFlags, setns, unshare};
use nix::sys::stat::fstat;
use nix::unistd::{Gid, Uid, getegid, geteuid};
use std::fs::{self, File};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

/// The namespaces of every emulation, also if root runs it.
const OWN: CloneFlags = CloneFlags::CLONE_NEWNS
    .union(CloneFlags::CLONE_NEWNET)
    .union(CloneFlags::CLONE_NEWPID)
    .union(CloneFlags::CLONE_NEWUTS)
    .union(CloneFlags::CLONE_NEWIPC);

/// Moves the calling process (which must have one thread) into new namespaces,
/// where it is root; its next child is the first process of the new PID namespace.
/// No mount of the new namespace reaches the old one, nor the other way round.
///
/// Root needs no user namespace, unless its capabilities were taken away.
pub fn enter() -> Result<(), OsError> {
    let (uid, gid) = (geteuid(), getegid());
    let is_entered = uid.is_root()
        && match unshare(OWN) {
            Err(Errno::EPERM) => false,
            result => result.call("unshare(CLONE_NEWNET)").map(|()| true)?,
        };
    if !is_entered {
        unshare(OWN | CloneFlags::CLONE_NEWUSER).call("unshare(CLONE_NEWUSER)")?;
        map_to_root(uid, gid)?;
    }
    make_private().call("mount(/, MS_PRIVATE)")
}

/// Moves the calling process into a mount namespace whose mounts are all private. The process, and
/// the programs that it becomes or starts, then change no mount of other processes, also if `/` is
/// shared (mount_namespaces(7), "Shared subtrees"). Allocates nothing.
///
/// # Errors
/// `EPERM` without CAP_SYS_ADMIN; such a process cannot change a mount either.
pub fn isolate_mounts() -> nix::Result<()> {
    unshare(CloneFlags::CLONE_NEWNS)?;
    make_private()
}

/// Makes each mount of the calling process's mount namespace private.
fn make_private() -> nix::Result<()> {
    let private = MsFlags::MS_REC | MsFlags::MS_PRIVATE;
    mount(None::<&str>, "/", None::<&str>, private, None::<&str>)
}

/// Maps user and group to root: an unprivileged process may map its own IDs once it has given
/// up setgroups(2) (user_namespaces(7)).
fn map_to_root(uid: Uid, gid: Gid) -> Result<(), OsError> {
    fs::write("/proc/self/setgroups", "deny").call("write(/proc/self/setgroups)")?;
    fs::write("/proc/self/uid_map", format!("0 {uid} 1")).call("write(/proc/self/uid_map)")?;
    fs::write("/proc/self/gid_map", format!("0 {gid} 1")).call("write(/proc/self/gid_map)")
}

/// Mounts a `/proc` of the namespace's own processes, and each of `files`, a name and a text, in
/// place of the file of that name in `/etc`.
///
/// Containers often forbid a new `/proc`: programs then see the old one. Minimal systems lack
/// `/etc/hosts`, and a missing file cannot be covered: then `/etc` gets a layer that has the files
/// (overlayfs; without privilege since Linux 5.11). If that is also refused, programs find names
/// only in their environment.
pub fn prepare_mounts(files: &[(&str, String)]) -> Result<(), OsError> {
    let plain = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
    let _ = mount(Some("proc"), "/proc", Some("proc"), plain, None::<&str>);
    // The files are in a file system that is mounted only until they are bound.
    const SCRATCH: &str = "/tmp";
    if mount(Some("tmpfs"), SCRATCH, Some("tmpfs"), plain, None::<&str>).is_ok() {
        let layer = Path::new(SCRATCH).join("etc");
        fs::create_dir(&layer).call("mkdir(/tmp/etc)")?;
        for (name, text) in files {
            fs::write(layer.join(name), text).call(&format!("write(/etc/{name})"))?;
        }
        let etc = Path::new("/etc");
        if files.iter().all(|(name, _)| etc.join(name).exists()) || lay_over(etc, &layer).is_err() {
            for (name, _) in files {
                let (file, target) = (layer.join(name), etc.join(name));
                let _ = mount(Some(&file), &target, None::<&str>, MsFlags::MS_BIND, None::<&str>);
            }
        }
        umount2(SCRATCH, MntFlags::MNT_DETACH).call("umount2(/tmp)")?;
    }
    Ok(())
}

/// Puts the files of `layer`, a folder in memory, over those of `folder`. Files that programs write
/// there stay in memory.
fn lay_over(folder: &Path, layer: &Path) -> Result<(), OsError> {
    let work = layer.with_extension("work");
    fs::create_dir(&work).call("mkdir(/tmp/etc.work)")?;
    let [lower, upper, work] = [folder, layer, &work].map(Path::display);
    let options = format!("lowerdir={lower},upperdir={upper},workdir={work}");
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
    mount(Some("overlay"), folder, Some("overlay"), flags, Some(options.as_str()))
        .call("mount(/etc, overlay)")
}

/// Returns the user namespace of the calling process.
pub fn own_user() -> Result<OwnedFd, OsError> {
    Ok(File::open("/proc/self/ns/user").call("open(/proc/self/ns/user)")?.into())
}

/// Whether this user namespace is that of the calling process.
pub fn is_own_user(user: &OwnedFd) -> bool {
    let inode = |fd: &OwnedFd| fstat(fd).ok().map(|about| (about.st_dev, about.st_ino));
    own_user().is_ok_and(|own| inode(&own).is_some() && inode(&own) == inode(user))
}

/// A network namespace, which exists as long as a descriptor of it does.
#[derive(Debug)]
pub struct NetNamespace(OwnedFd);

impl NetNamespace {
    /// Returns the namespace of the calling thread.
    pub fn current() -> Result<Self, OsError> {
        let file = File::open("/proc/thread-self/ns/net").call("open(/proc/thread-self/ns/net)")?;
        Ok(Self(file.into()))
    }

    /// Makes a namespace and moves the calling thread into it.
    pub fn create() -> Result<Self, OsError> {
        unshare(CloneFlags::CLONE_NEWNET).call("unshare(CLONE_NEWNET)")?;
        Self::current()
    }

    /// Moves the calling thread into it.
    pub fn enter(&self) -> Result<(), OsError> {
        setns(self.0.as_fd(), CloneFlags::CLONE_NEWNET).call("setns(CLONE_NEWNET)")
    }
}

impl NetNamespace {
    /// Descriptor of the namespace.
    pub fn fd(&self) -> &OwnedFd {
        &self.0
    }
}

impl AsFd for NetNamespace {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Allows ICMP sockets to all programs of the calling thread's network namespace, and switches
/// off IPv6's duplicate address detection and router solicitations. Errors are ignored:
/// `/proc/sys` is read-only in many containers.
pub fn quieten() {
    // A user namespace maps one group only, and the kernel refuses a range that it cannot map.
    if fs::write("/proc/sys/net/ipv4/ping_group_range", "0 2147483647").is_err() {
        let _ = fs::write("/proc/sys/net/ipv4/ping_group_range", "0 0");
    }
    for name in ["accept_dad", "accept_ra", "router_solicitations"] {
        for which in ["all", "default"] {
            let _ = fs::write(format!("/proc/sys/net/ipv6/conf/{which}/{name}"), "0");
        }
    }
}

/// Makes the calling thread's network namespace forward packets. At `interface` it answers ARP
/// requests for addresses behind other interfaces, without the usual random delay (`proxy_arp`,
/// `proxy_delay`; Linux' ip-sysctl).
pub fn become_router(interface: &str) -> Result<(), OsError> {
    for (name, value) in [
        (format!("conf/{interface}/proxy_arp"), "1"),
        (format!("neigh/{interface}/proxy_delay"), "0"),
        ("ip_forward".into(), "1"),
    ] {
        let file = format!("/proc/sys/net/ipv4/{name}");
        fs::write(&file, value).call(&format!("write({file})"))?;
    }
    Ok(())
}

/// Switches IPv6 off in the calling thread's network namespace; errors are ignored.
pub fn disable_ipv6() {
    for which in ["all", "default"] {
        let _ = fs::write(format!("/proc/sys/net/ipv6/conf/{which}/disable_ipv6"), "1");
    }
}
