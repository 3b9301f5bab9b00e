//! Files that a thread of their own writes: they are what they are without it; its errors,
//! its panics and its end; and that who reports waits for it.

use crate::scene;
use lasthop_hosts::Sink;
use lasthop_net::network::NetworkStats;
use lasthop_trace::{AirStream, Files, OutputDir, OutputError, Recorder, RunDocument};
use lasthop_wifi::event::Event;
use std::fs;
use std::io::{self, Write};
use std::panic::AssertUnwindSafe;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex};
use std::thread;

/// Plays the scene so often that there are several chunks of reports.
fn play(recorder: &mut Recorder) {
    (0..300).for_each(|_| scene::play(recorder));
}

fn record(path: &Path, files: &Files, beside: bool) -> RunDocument {
    let mut directory = OutputDir::create(path).unwrap();
    let mut recorder =
        Recorder::with_files(scene::names(), scene::recording(), files, &mut directory).unwrap();
    if beside {
        recorder = recorder.writing_beside().unwrap();
    }
    play(&mut recorder);
    let document = recorder.finish(&scene::info(), &NetworkStats::default()).unwrap();
    directory.commit().unwrap();
    document
}

#[test]
fn files_are_the_same() {
    for cut in [false, true] {
        let files = Files { cut, ..scene::files() };
        let [here, beside] = [scene::scratch("here"), scene::scratch("beside")];
        let documents = [record(&here, &files, false), record(&beside, &files, true)];
        assert_eq!(documents[0], documents[1]);
        let names = |path| -> Vec<_> {
            let mut names: Vec<_> =
                fs::read_dir(path).unwrap().map(|entry| entry.unwrap().file_name()).collect();
            names.sort_unstable();
            names
        };
        assert_eq!(names(&here), names(&beside));
        assert_eq!(names(&here).len(), 2 + 1 + scene::names().nodes.len());
        for name in names(&here) {
            let [here, beside] = [&here, &beside].map(|path| fs::read(path.join(&name)).unwrap());
            assert!(here == beside, "{name:?}");
        }
        for path in [here, beside] {
            fs::remove_dir_all(path).unwrap();
        }
    }
}

/// A recorder of a stream of the air, written by a thread.
fn streaming(target: impl Write + Send + 'static) -> Recorder {
    let stream = AirStream { info: scene::air(), snap_bytes: None, data: true };
    Recorder::with_air_stream(scene::names(), scene::recording(), &stream, Box::new(target))
        .and_then(Recorder::writing_beside)
        .expect("the head of the capture is taken")
}

/// Does something when something is written. A capture has a buffer, so that this is not
/// before the thread writes.
struct Doing<F>(F);

impl<F: FnMut() -> io::Result<()>> Write for Doing<F> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        (self.0)()?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_full_disk_is_an_error_that_names_the_file() {
    let path = scene::scratch("beside-full");
    let mut directory = OutputDir::create_named(&path).unwrap();
    std::os::unix::fs::symlink("/dev/full", path.join("node-laptop.pcapng.part")).unwrap();
    let files = scene::files();
    let mut recorder =
        Recorder::with_files(scene::names(), scene::recording(), &files, &mut directory)
            .and_then(Recorder::writing_beside)
            .unwrap();
    // It is known before the end: 64 KiB are soon full.
    let mut turns = 0;
    while !recorder.failed() && turns < 100_000 {
        scene::play(&mut recorder);
        turns += 1;
    }
    assert!(turns < 100_000);
    let error = recorder.finish(&scene::info(), &NetworkStats::default()).unwrap_err();
    let text = error.to_string();
    assert!(text.contains("node-laptop.pcapng: No space left on device"), "{text}");
    drop(directory);
    assert!(!path.exists());
}

#[test]
fn the_first_error_is_returned() {
    let mut errors = [io::ErrorKind::BrokenPipe, io::ErrorKind::StorageFull].into_iter();
    let mut recorder = streaming(Doing(move || match errors.next() {
        Some(kind) => Err(kind.into()),
        None => Ok(()),
    }));
    (0..10).for_each(|_| play(&mut recorder));
    let error = recorder.finish(&scene::info(), &NetworkStats::default()).unwrap_err();
    let OutputError::Stream(error) = error else { panic!("{error}") };
    assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
}

#[test]
fn a_panic_is_passed_on() {
    let mut recorder = streaming(Doing(|| panic!("the writer is at fault")));
    (0..10).for_each(|_| play(&mut recorder));
    let finish = AssertUnwindSafe(|| recorder.finish(&scene::info(), &NetworkStats::default()));
    let panic = std::panic::catch_unwind(finish).unwrap_err();
    assert_eq!(panic.downcast_ref(), Some(&"the writer is at fault"));
}

/// A run that is stopped drops its recorder: its thread is gone then, with all that it had.
#[test]
fn nothing_is_left_when_a_recorder_is_dropped() {
    for reports in [0, 1, 300] {
        let held = Arc::new(());
        let theirs = Arc::clone(&held);
        let mut recorder = streaming(Doing(move || {
            let _ = &theirs;
            Ok(())
        }));
        (0..reports).for_each(|_| scene::play(&mut recorder));
        assert_eq!(Arc::strong_count(&held), 2);
        drop(recorder);
        assert_eq!(Arc::strong_count(&held), 1);
    }
}

/// Counts what is written once it may.
struct Gate {
    open: Option<Receiver<()>>,
    taken: Arc<Mutex<Vec<u8>>>,
}

impl Write for Gate {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Some(open) = self.open.take() {
            open.recv().expect("it is opened");
        }
        self.taken.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn who_reports_waits() {
    const PPDUS: usize = 100_000;
    let (opener, open) = mpsc::channel();
    let taken = Arc::new(Mutex::new(Vec::new()));
    let mut recorder = streaming(Gate { open: Some(open), taken: Arc::clone(&taken) });
    let reported = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&reported);
    let (done, is_done) = mpsc::channel();
    let reporter = thread::spawn(move || {
        let ppdu = &scene::ppdus()[2];
        for _ in 0..PPDUS {
            recorder.event(Event::Ppdu(ppdu.clone()), &|_| None);
            counter.fetch_add(1, Ordering::Relaxed);
        }
        let _ = done.send(());
        recorder.finish(&scene::info(), &NetworkStats::default())
    });
    // With the gate closed it never ends.
    let second = std::time::Duration::from_secs(1);
    assert_eq!(is_done.recv_timeout(second), Err(mpsc::RecvTimeoutError::Timeout));
    let before = reported.load(Ordering::Relaxed);
    assert!(before < PPDUS / 2, "{before}");
    opener.send(()).unwrap();
    reporter.join().unwrap().unwrap();
    assert_eq!(crate::stream::packets(&taken.lock().unwrap()).len(), PPDUS);
}
