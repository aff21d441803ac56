//! Servers end with the process that started them.

use std::{
    io::{BufRead as _, BufReader},
    net::TcpStream,
    path::PathBuf,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(10);
    while !is_so() {
        assert!(Instant::now() < deadline, "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn servers_and_their_folders_end_with_a_process_that_is_killed() {
    let parent = tempfile::tempdir_in("/tmp").unwrap();
    std::fs::set_permissions(parent.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let mut testbed = Command::new(env!("CARGO_BIN_EXE_nuncio-testbed"))
        .args(["sh", "-c", "echo $NUNCIO_TEST_POSTGRES; echo $NUNCIO_TEST_NATS; exec cat"])
        .env_remove("NUNCIO_TEST_POSTGRES")
        .env_remove("NUNCIO_TEST_NATS")
        .env("TMPDIR", parent.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(testbed.stdout.take().unwrap()).lines();
    let mut address = || {
        let url = lines.next().unwrap().unwrap();
        let address = url.rsplit("//").next().unwrap().rsplit('@').next().unwrap();
        address.split('/').next().unwrap().to_owned()
    };
    let (postgres, nats) = (address(), address());
    for server in [&postgres, &nats] {
        TcpStream::connect(server).unwrap();
    }
    let folders =
        || std::fs::read_dir(parent.path()).unwrap().map(|entry| entry.unwrap().path()).collect::<Vec<PathBuf>>();
    assert_eq!(folders().len(), 2);
    testbed.kill().unwrap();
    testbed.wait().unwrap();
    for server in [&postgres, &nats] {
        until("a server outlives its process", || TcpStream::connect(server).is_err());
    }
    until("a folder outlives its process", || folders().is_empty());
}

#[test]
fn the_command_runs_and_its_exit_status_is_returned() {
    let status = Command::new(env!("CARGO_BIN_EXE_nuncio-testbed"))
        .args(["sh", "-c", "test -n \"$NUNCIO_TEST_POSTGRES\" && test -n \"$NUNCIO_TEST_NATS\" && exit 7"])
        .status()
        .unwrap();
    assert_eq!(status.code(), Some(7));
}
