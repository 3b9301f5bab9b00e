//! The environment of the tests: a directory for each, the emulated link, and functions of their
//! scripts.

use serde_json::Value;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

/// The directory of a test, in which its programs run.
pub struct Stage {
    pub path: PathBuf,
}

impl Stage {
    pub fn new(name: &str) -> Self {
        let path =
            std::env::temp_dir().join(format!("lasthop-franc-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).expect("it can be made");
        Self { path }
    }

    pub fn text(&self, name: &str) -> String {
        fs::read_to_string(self.path.join(name)).unwrap_or_default()
    }

    pub fn lasthop(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_lasthop"));
        command.args(arguments).current_dir(&self.path).env("RUNTIME_DIRECTORY", &self.path);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    pub fn run(&self, arguments: &[&str]) -> Output {
        self.lasthop(arguments).output().expect("the binary can be run")
    }

    /// Runs `arguments` and returns their error.
    pub fn complaint(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {errors}");
        errors
    }

    /// Emulates the nodes `names` in a row with `programs` (node, line of shell), and
    /// runs `script` in the first one; all of them run in this directory. `None` if
    /// something is missing on this machine.
    pub fn emulate(
        &self,
        names: &[&str],
        loss: &str,
        programs: &[(&str, String)],
        script: &str,
    ) -> Option<()> {
        self.emulate_in(names[0], names, loss, programs, script)
    }

    /// As [`Self::emulate`], with the script in node `home`.
    pub fn emulate_in(
        &self,
        home: &str,
        names: &[&str],
        loss: &str,
        programs: &[(&str, String)],
        script: &str,
    ) -> Option<()> {
        are_there(&["ping", "ip", "curl", "python3"])?;
        let mut scenario = String::from("name = \"link\"\n");
        for name in names {
            scenario += &format!("[[node]]\nname = \"{name}\"\nrole = \"host\"\n");
        }
        for pair in names.windows(2) {
            scenario += &format!(
                "[[wire]]\nbetween = [\"{}\", \"{}\"]\nrate = \"12112kb/s\"\ndelay = \"10ms\"\n\
                 loss = \"{loss}\"\nqueue = {{ kind = \"drop-tail\", bytes = 150000 }}\n",
                pair[0], pair[1]
            );
        }
        for (node, line) in programs {
            scenario += &format!(
                "[[run]]\nnode = \"{node}\"\ncommand = '''cd {} && {line}'''\n",
                self.path.display()
            );
        }
        fs::write(self.path.join("link.toml"), scenario).expect("it can be written");
        fs::write(self.path.join("script.sh"), format!("{SHELL}{script}"))
            .expect("it can be written");
        let output = self.run(&["emulate", "link.toml", "--in", home, "--", "sh", "script.sh"]);
        let errors = String::from_utf8_lossy(&output.stderr);
        if errors.contains("cannot emulate here") {
            eprintln!("skipped, because {errors}");
            return None;
        }
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{errors}{said}{}", self.logs());
        Some(())
    }

    /// Makes the nodes a, b and h, each with its `eth0`, on one bridge, which sends every frame to
    /// all others (`is_hub`) or learns addresses. The bridge is in the namespace `bridge`.
    /// Otherwise as in [`Self::emulate`], but without `lasthop emulate`: nothing on the path knows
    /// about coded links or loses anything.
    pub fn bridge(&self, is_hub: bool, programs: &[(&str, String)], script: &str) -> Option<()> {
        are_there(&["ping", "ip", "curl", "python3", "unshare", "nsenter"])?;
        let ageing = if is_hub { "ageing_time 0" } else { "" };
        let here = self.path.display();
        let mut setup = format!(
            r#"
in_node() {{ node=$1; shift; nsenter --net=/run/netns/$node "$@"; }}
set_up() {{
    mount -t tmpfs none /run && mkdir /run/netns &&
    touch /run/netns/bridge && mount --bind /proc/self/ns/net /run/netns/bridge &&
    ip link add bridge type bridge {ageing} mcast_snooping 0 && ip link set bridge up || return
    for place in a:1 b:2 h:3; do
        node=${{place%:*}}; mac=02:00:00:00:00:0${{place#*:}}
        ip netns add $node &&
        ip link add at-$node type veth peer name eth0 netns $node address $mac &&
        ip link set at-$node master bridge up &&
        in_node $node ip link set eth0 up && in_node $node ip link set lo up || return
    done
}}
set_up || {{ echo "cannot build a bridge here" >&2; exit 77; }}
cd {here}
"#
        );
        for (index, (node, line)) in programs.iter().enumerate() {
            fs::write(self.path.join(format!("program{index}.sh")), line).expect("written");
            setup += &format!("in_node {node} sh program{index}.sh &\n");
        }
        setup += "in_node a sh script.sh\n";
        fs::write(self.path.join("setup.sh"), setup).expect("it can be written");
        fs::write(self.path.join("script.sh"), format!("{SHELL}{script}")).expect("written");
        let output = Command::new("unshare")
            .args(["--map-root-user", "--net", "--mount", "--pid", "--fork", "--kill-child"])
            .args(["sh", "setup.sh"])
            .current_dir(&self.path)
            .output()
            .expect("unshare is there");
        let errors = String::from_utf8_lossy(&output.stderr);
        if output.status.code() == Some(77) || errors.starts_with("unshare: ") {
            eprintln!("skipped, because {errors}");
            return None;
        }
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{errors}{said}{}", self.logs());
        Some(())
    }

    /// Returns the document of counters in the file `name`.
    pub fn stats(&self, name: &str) -> Value {
        serde_json::from_str(&self.text(name)).expect("a document")
    }

    pub fn logs(&self) -> String {
        let entries = fs::read_dir(&self.path).into_iter().flatten().flatten();
        let logs = entries.filter(|entry| entry.path().extension().is_some_and(|end| end == "log"));
        logs.map(|log| {
            format!(
                "\n==> {:?}\n{}",
                log.file_name(),
                fs::read_to_string(log.path()).unwrap_or_default()
            )
        })
        .collect()
    }

    /// Creates the `key` of the ends, and `hop` for the nodes between them.
    pub fn keys(&self) {
        self.key("key");
        assert!(self.run(&["franc", "key", "--hop", "key", "--out", "hop"]).status.success());
    }

    pub fn key(&self, name: &str) {
        assert!(self.run(&["franc", "key", "--out", name]).status.success());
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// `None`, with a message, if a program is missing.
fn are_there(programs: &[&str]) -> Option<()> {
    for program in programs {
        let found = Command::new("sh").args(["-c", &format!("command -v {program}")]).output();
        if !found.is_ok_and(|found| found.status.success()) {
            eprintln!("skipped, because {program} is not installed");
            return None;
        }
    }
    Some(())
}

/// Functions of all scripts.
const SHELL: &str = r#"
set -u
fail() { echo "$*" >&2; exit 1; }
now() { date +%s%3N; }
# Waits until pings pass; the time that took, in milliseconds.
until_passes() {
    begin=$(now)
    until ping -c 1 -W 0.2 "$1" >/dev/null 2>&1; do
        [ $(($(now) - begin)) -lt 15000 ] || fail "nothing passes to $1"
        sleep 0.02
    done
    echo $(($(now) - begin))
}
"#;

/// Returns a line of a script that writes the counters of the daemon `name` to NAME.json.
pub fn stats(name: &str) -> String {
    let lasthop = env!("CARGO_BIN_EXE_lasthop");
    format!("{lasthop} franc stats --json --socket {name}.sock > {name}.json\n")
}

/// Returns a line that runs a daemon and restarts it whenever it ends. NAME.pid has the process
/// number, NAME.began the time of the start in seconds.
pub fn daemon(name: &str, flags: &str) -> String {
    let lasthop = env!("CARGO_BIN_EXE_lasthop");
    format!(
        "while :; do date +%s.%N >{name}.began; {lasthop} franc run --socket {name}.sock {flags} >>{name}.log 2>&1 & \
         echo $! >{name}.pid; wait $!; done"
    )
}

/// Returns the two ends, over UDP.
pub fn ends(flags_a: &str, flags_b: &str) -> Vec<(&'static str, String)> {
    vec![
        (
            "a",
            daemon(
                "a",
                &format!(
                    "--id 1 --peer 2 --neighbours 2=b --address 10.9.0.1/24,fd09::1/64 {flags_a}"
                ),
            ),
        ),
        (
            "b",
            daemon(
                "b",
                &format!(
                    "--id 2 --peer 1 --neighbours 1=a --address 10.9.0.2/24,fd09::2/64 {flags_b}"
                ),
            ),
        ),
    ]
}

/// Random bytes in the file `there` of b, sent to a as `here`.
pub const TRANSFER: &str = r#"
head -c 3000000 /dev/urandom > there
for i in 1 2 3 4 5; do
    curl --silent --show-error --max-time 60 http://10.9.0.2:8000/there -o here && break
    sleep 0.3
done
cmp there here || fail "the file came out as another one"
"#;

pub fn served() -> (&'static str, String) {
    ("b", "exec python3 -m http.server --bind 0.0.0.0 8000 >/dev/null 2>&1".to_owned())
}
