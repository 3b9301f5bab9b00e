//! Errors: every message has the cause and the allowed values, the exit status is 2, and no files
//! are left behind.

use crate::stage::Stage;
use nix::unistd::Uid;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

#[test]
fn keys_are_made_and_derived() {
    let stage = Stage::new("key");
    stage.key("link.key");
    let file = stage.path.join("link.key");
    assert_eq!(fs::metadata(&file).expect("it is there").permissions().mode() & 0o777, 0o600);
    let shared = stage.text("link.key");
    assert_eq!(shared.trim().len(), 64);
    let hop = stage.run(&["franc", "key", "--hop", "link.key"]);
    let hop = String::from_utf8(hop.stdout).expect("text");
    assert!(hop.starts_with("hop:") && !hop.contains(shared.trim()), "{hop}");
    assert!(stage.complaint(&["franc", "key", "--out", "link.key"]).contains("File exists"));
    fs::write(stage.path.join("hop.key"), hop).expect("it can be written");
    let permit =
        |mode| fs::set_permissions(stage.path.join("hop.key"), fs::Permissions::from_mode(mode));
    permit(0o644).expect("it is ours");
    assert!(stage.complaint(&["franc", "key", "--hop", "hop.key"]).contains("chmod 600"));
    permit(0o600).expect("it is ours");
    assert!(stage.complaint(&["franc", "key", "--hop", "hop.key"]).contains("a hop key already"));
    let end = ["franc", "run", "--id", "1", "--peer", "2", "--key-file"];
    let end = |key: &str| stage.complaint(&[&end[..], &[key]].concat());
    assert!(end("hop.key").contains("an end needs the shared key"));
    for (name, content, told) in [
        (
            "short",
            "secret",
            "it has 6 bytes, and a key has 16 or more: make one with `lasthop franc key`",
        ),
        ("long", &*"x".repeat(5_000), "it has more than 4096 bytes"),
        ("half", "hop:0123456789abcdef", "expected 64 hexadecimal digits after hop:"),
    ] {
        fs::write(stage.path.join(name), content).expect("it can be written");
        let permit = fs::Permissions::from_mode(0o600);
        fs::set_permissions(stage.path.join(name), permit).expect("it is ours");
        let said = end(name);
        assert!(said.contains(told) && !said.contains(content), "{said}");
    }
    assert!(end("none").contains("key file none: No such file"));
}

/// The short help fits a screen of 80 columns; the long one has all keys.
#[test]
fn the_help_of_a_node_fits_on_a_screen() {
    let stage = Stage::new("help");
    let help = |flag: &str| {
        let mut command = stage.lasthop(&["franc", "run", flag]);
        let output = command.env("COLUMNS", "80").output().expect("the binary can be run");
        String::from_utf8(output.stdout).expect("text")
    };
    let (short, all) = (help("--help"), help("--help-all"));
    assert_eq!(short, help("-h"));
    let lines = short.lines().count();
    assert!((24..=35).contains(&lines), "{lines} lines: {short}");
    assert!(short.contains("--peer") && !short.contains("--block-symbols"), "{short}");
    assert!(all.contains("--peer") && all.contains("--block-symbols"), "{all}");
}

/// A failed write to a full disk leaves no file that blocks the next attempt.
#[test]
fn a_key_that_cannot_be_written_leaves_nothing() {
    let stage = Stage::new("full");
    let lasthop = env!("CARGO_BIN_EXE_lasthop");
    let line = format!("trap '' XFSZ; ulimit -f 0; exec {lasthop} franc key --out link.key");
    let output = Command::new("sh").args(["-c", &line]).current_dir(&stage.path).output();
    let output = output.expect("there is a shell");
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(2) && told.contains("File too large"), "{told}");
    assert_eq!(fs::read_dir(&stage.path).expect("it is there").count(), 0);
    stage.key("link.key");
    assert_eq!(stage.text("link.key").trim().len(), 64);
    assert_eq!(fs::read_dir(&stage.path).expect("it is there").count(), 1);
}

/// Another user could change the content of a key file that belongs to that user.
#[test]
fn a_key_file_belongs_to_who_runs_this_or_root() {
    if !Uid::effective().is_root() {
        eprintln!("skipped, because only root can make a file of another user");
        return;
    }
    let stage = Stage::new("owner");
    stage.key("link.key");
    let file = stage.path.join("link.key");
    std::os::unix::fs::chown(&file, Some(65_534), None).expect("root may");
    let told = stage.complaint(&["franc", "key", "--hop", "link.key"]);
    assert!(told.contains("it belongs to user 65534; allowed are the current user 0"), "{told}");
    // A symbolic link is judged by the file to which it leads.
    std::os::unix::fs::symlink(&file, stage.path.join("linked.key")).expect("it can be made");
    let told = stage.complaint(&["franc", "key", "--hop", "linked.key"]);
    assert!(told.contains("it belongs to user 65534"), "{told}");
    std::os::unix::fs::chown(&file, Some(0), None).expect("root may");
    assert!(stage.run(&["franc", "key", "--hop", "linked.key"]).status.success());
}

/// systemd lets the user of a unit read a file of root by an access control list, which
/// shows as mode 440.
#[test]
fn a_credential_of_systemd_is_taken() {
    if !Uid::effective().is_root() {
        eprintln!("skipped, because only root can make a file of root");
        return;
    }
    let stage = Stage::new("credential");
    stage.key("key");
    let file = stage.path.join("key");
    let hop = |folder: &Path| {
        let asked = ["franc", "key", "--hop", file.to_str().expect("a path of ASCII")];
        let output = stage.lasthop(&asked).env("CREDENTIALS_DIRECTORY", folder).output();
        output.expect("the binary can be run").status.code()
    };
    for (mode, folder, status) in [
        (0o440, &*stage.path, Some(0)),
        (0o440, Path::new("/nowhere"), Some(2)),
        (0o460, &*stage.path, Some(2)),
        (0o444, &*stage.path, Some(2)),
    ] {
        fs::set_permissions(&file, fs::Permissions::from_mode(mode)).expect("it is ours");
        assert_eq!(hop(folder), status, "{mode:o} in {}", folder.display());
    }
}

#[test]
fn what_cannot_be_is_told_and_leaves_nothing() {
    let stage = Stage::new("wrong");
    let end = |more: &[&str]| {
        let base = ["franc", "run", "--id", "1", "--peer", "2", "--insecure", "--name", "lhwrong0"];
        stage.complaint(&[&base[..], more].concat())
    };
    // Arguments, what is wrong with them, and what is allowed.
    let wrong: [(&[&str], &str, &str); 15] = [
        (
            &["--transport", "ethernet", "--interface", "nosuch0"],
            "there is no interface \"nosuch0\"",
            "`ip link` shows them",
        ),
        (&["--transport", "ethernet"], "ethernet needs", "`--interface`"),
        (
            &["--symbol-bytes", "1400", "--mtu", "600"],
            "a symbol of 1400 bytes needs a datagram of",
            "use symbols of at most 546",
        ),
        (&["--mtu", "128"], "a symbol of 74 bytes leaves 53", "use symbols of 89 bytes or more"),
        (&["--mtu", "100"], "--mtu 100: mtu: ", "expected a whole number from 128 to 65535"),
        (&["--mtu", "600", "--address", "fd09::1/64"], "carries no IPv6", "which needs 1280"),
        (&["--neighbours", "2=nobody.invalid"], "neighbour 2: ", "cannot find nobody.invalid"),
        (&["--neighbours", "2=127.0.0.1:0"], "neighbour 2: ", "expected a port, 1 to 65535"),
        (&["--block-symbols", "0"], "--block-symbols 0: block_symbols: ", "from 1 to 1024"),
        (
            &["--address", "10.9.0.300/24"],
            "10.9.0.300/24",
            "expected an address and the length of its prefix",
        ),
        (&["--address", "10.9.0.2"], "10.9.0.2 lacks its prefix length", "such as /24"),
        (&["--listen", "192.0.2.9:5000"], "bind(192.0.2.9:5000)", "`ip address` shows them"),
        (&["--via", "1"], "node 1 is named twice", "a different number"),
        (&["--socket", "nowhere/here.sock"], "bind(nowhere/here.sock)", "there is no such folder"),
        (&["--metrics", "192.0.2.9:80"], "bind(192.0.2.9:80)", "`ip address` shows them"),
    ];
    for (flags, what, allowed) in wrong {
        if what.starts_with("bind(") && !Uid::effective().is_root() {
            // Its capabilities are missed first.
            continue;
        }
        let told = end(flags);
        assert!(told.contains(what) && told.contains(allowed), "{flags:?}: {told}");
    }
    let named = |name| {
        let named = ["franc", "run", "--id", "1", "--peer", "2", "--insecure", "--name", name];
        stage.complaint(&[&named[..], &["--listen", "127.0.0.1:0"]].concat())
    };
    assert!(named("much-too-long-a-name").contains("up to 15 letters"));
    if Uid::effective().is_root() {
        let told = named("lo");
        assert!(told.contains("of \"lo\"") && told.contains("choose another"), "{told}");
    }
    if Uid::effective().is_root() {
        // A file that is no socket is left alone.
        fs::write(stage.path.join("precious"), "mine").expect("it can be written");
        assert!(end(&["--socket", "precious"]).contains("that is a file and no socket"));
        assert_eq!(stage.text("precious"), "mine");
        let long = "x".repeat(120);
        assert!(end(&["--socket", &long]).contains("up to 107 bytes"));
    }
    let told = stage.complaint(&["franc", "run"]);
    assert!(told.contains("--id is missing"), "{told}");
    let files = [
        ("feild = \"gf2\"", "4: feild: unknown key; did you mean \"field\"?"),
        ("field = 2", "4: field: expected \"gf2\", \"gf16\" or \"gf256\", got 2"),
        (
            "field = gf2",
            "4: this is not TOML: string values must be quoted, expected literal string",
        ),
        ("peer = 3", "4: this is not TOML: duplicate key"),
    ];
    for (line, expected) in files {
        let text = format!("id = 1\npeer = 2\ninsecure = true\n{line}\n");
        fs::write(stage.path.join("franc.toml"), text).expect("it can be written");
        let told = stage.complaint(&["franc", "run", "franc.toml"]);
        assert_eq!(told, format!("franc.toml:{expected}\n"));
    }
    assert!(
        stage
            .complaint(&["franc", "run", "none.toml"])
            .contains("cannot be read: there is no such file")
    );
    assert!(!Path::new("/sys/class/net/lhwrong0").exists());
}

/// As a user without any capability.
#[test]
fn a_missing_capability_is_named() {
    let is_there = Command::new("setpriv").arg("--version").output().is_ok();
    if !Uid::effective().is_root() || !is_there {
        eprintln!("skipped, because only root with setpriv(1) can take capabilities away");
        return;
    }
    let told = |flags: &[&str]| {
        let output = Command::new("setpriv")
            .args(["--bounding-set=-all", "--inh-caps=-all", "--", env!("CARGO_BIN_EXE_lasthop")])
            .args(["franc", "run", "--id", "1", "--peer", "2", "--insecure"])
            .args(flags)
            .output()
            .expect("setpriv is there");
        assert_eq!(output.status.code(), Some(2));
        let told = String::from_utf8(output.stderr).expect("text");
        assert!(!told.contains("bind("), "{told}");
        told
    };
    let udp = told(&["--listen", "127.0.0.1:0"]);
    assert!(udp.contains("CAP_NET_ADMIN") && udp.contains("setcap"), "{udp}");
    let ethernet = told(&["--transport", "ethernet", "--interface", "lo"]);
    assert!(ethernet.contains("CAP_NET_RAW") && ethernet.contains("setcap"), "{ethernet}");
}
