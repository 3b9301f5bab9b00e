//! Rights of a confined thread. The kernel is the judge: a child of the test confines itself and
//! tries.

#![allow(clippy::unwrap_used, reason = "a test that unwraps fails, which is its job")]
#![expect(clippy::disallowed_methods, reason = "a timer that is real")]
#![expect(clippy::disallowed_types, reason = "sockets that are refused")]

use lasthop_linux::confine::{Needs, confine, keep_memory_private};
use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, execv, getppid};
use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, UdpSocket};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

/// Names the folder in which the child tries.
const FOLDER: &str = "LASTHOP_TEST_FOLDER";

#[test]
fn a_confined_thread_can_do_little() {
    let folder = std::env::temp_dir().join(format!("lasthop-confine-{}", std::process::id()));
    let (ours, theirs) = (folder.join("ours"), folder.join("theirs"));
    fs::create_dir_all(&ours).unwrap();
    fs::create_dir_all(&theirs).unwrap();
    for file in [ours.join("socket"), ours.join("secret"), theirs.join("file")] {
        fs::write(file, "kept").unwrap();
    }
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "a_confined_thread", "--ignored", "--nocapture"])
        .env(FOLDER, &folder)
        .output()
        .unwrap();
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    let removed = !ours.join("socket").exists();
    let kept = theirs.join("file").exists();
    let is_restricted = !text.contains("landlock");
    fs::remove_dir_all(&folder).unwrap();
    assert!(output.status.success(), "{text}");
    assert!(removed, "{text}");
    if !is_restricted {
        eprintln!("skipped what landlock refuses, because: {text}");
        return;
    }
    assert!(kept, "{text}");
}

/// Not a separate test: the thread that the other test starts.
#[test]
#[ignore = "run by the other test"]
fn a_confined_thread() {
    let folder = PathBuf::from(std::env::var_os(FOLDER).expect("run by the other test"));
    let (ours, theirs) = (folder.join("ours"), folder.join("theirs"));
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let to = socket.local_addr().unwrap();
    let (mut one, mut other) = UnixStream::pair().unwrap();
    keep_memory_private();
    let removes = ours.join("socket");
    let refused = confine(Needs { removes: Some(&removes), raises_priority: false });
    for error in &refused {
        eprintln!("not confined: {error}");
    }
    if refused.iter().any(|error| error.call.starts_with("seccomp")) {
        fs::remove_file(&removes).unwrap();
        return;
    }

    // What it is for.
    socket.send_to(b"a datagram", to).unwrap();
    let mut bytes = [0; 16];
    assert_eq!(socket.recv_from(&mut bytes).unwrap(), (10, to));
    one.write_all(b"a question").unwrap();
    one.set_nonblocking(true).unwrap();
    assert_eq!(other.read(&mut bytes).unwrap(), 10);
    std::thread::sleep(Duration::from_millis(1));
    let mut memory: Vec<Vec<u8>> = (0..64).map(|size| vec![size; 1 << 16]).collect();
    memory.truncate(1);
    assert_eq!(memory[0].len(), 1 << 16);
    fs::remove_file(&removes).unwrap();

    // What it is not for.
    let denied = |what: &str, result: std::io::Result<()>| {
        let error = result.expect_err(what);
        assert_eq!(error.kind(), ErrorKind::PermissionDenied, "{what}: {error}");
    };
    let system = |result: nix::Result<()>| result.map_err(std::io::Error::from);
    denied("read", File::open(ours.join("secret")).map(drop));
    denied("write", OpenOptions::new().append(true).open(ours.join("secret")).map(drop));
    denied("make", fs::write(ours.join("new"), ""));
    denied("rename", fs::rename(ours.join("secret"), ours.join("other")));
    denied("list", fs::read_dir("/").map(drop));
    denied("UDP", UdpSocket::bind("127.0.0.1:0").map(drop));
    denied("TCP", TcpListener::bind("127.0.0.1:0").map(drop));
    denied("Unix", UnixStream::connect("/nowhere").map(drop));
    denied("run", Command::new("/bin/true").spawn().map(drop));
    denied("exec", system(execv::<&std::ffi::CStr>(c"/bin/true", &[]).map(drop)));
    denied("signal", system(kill(getppid(), Signal::SIGCONT)));
    denied("signal all", system(kill(Pid::from_raw(-1), None)));
    let nowhere = std::ptr::null_mut();
    let (code, own) = (libc::PROT_READ | libc::PROT_EXEC, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    #[expect(unsafe_code, reason = "a mapping that is refused")]
    // SAFETY: a mapping of its own, where the kernel likes.
    let mapped = unsafe { libc::mmap(nowhere, 4_096, code, own, -1, 0) };
    assert_eq!((mapped, Errno::last()), (libc::MAP_FAILED, Errno::EPERM));
    #[expect(unsafe_code, reason = "a call that is refused")]
    // SAFETY: asks to be traced, which changes no memory.
    let traced = unsafe { libc::ptrace(libc::PTRACE_TRACEME) };
    assert_eq!((traced, Errno::last()), (-1, Errno::EPERM));
    // Landlock judges where.
    if !refused.iter().any(|error| error.call.starts_with("landlock")) {
        denied("remove", fs::remove_file(theirs.join("file")));
    }
}
