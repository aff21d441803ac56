//! A server as a child process on its own core. The address is found in the output, and dropping the value ends the
//! process.

use std::{
    fs::{self, File},
    net::{Ipv4Addr, SocketAddr, TcpStream},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail};

use crate::machine::{Cores, Processes, resident, terminate};

const START: Duration = Duration::from_secs(20);
const STOP: Duration = Duration::from_secs(10);

/// A running server. Dropping the value requests the end of the process, and kills the process if it does not end.
#[derive(Debug)]
pub(crate) struct Server {
    child: Child,
    address: SocketAddr,
    log: PathBuf,
}

impl Server {
    /// Starts `program` with one worker thread on the server's core and waits until the program listens. The output
    /// goes to `log`, where the address is searched.
    /// `log`, where its address is looked for.
    pub(crate) fn start(
        program: &Path,
        arguments: &[String],
        log: &Path,
        cores: Cores,
        processes: &Processes,
    ) -> Result<Self> {
        let output = File::create(log).with_context(|| format!("cannot create {}", log.display()))?;
        let mut command = Command::new(program);
        command
            .args(arguments)
            .env("TOKIO_WORKER_THREADS", "1")
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(output);
        let child = cores.on_server_core(|| command.spawn())?;
        let child = child.with_context(|| format!("cannot start {}", program.display()))?;
        processes.add(child.id());
        let mut server = Self { child, address: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), log: log.to_owned() };
        server.address = server.await_address()?;
        Ok(server)
    }

    /// The address of the server.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// The process id of the server.
    pub(crate) fn process(&self) -> u32 {
        self.child.id()
    }

    /// The resident memory of the server in bytes.
    pub(crate) fn resident(&self) -> Result<u64> {
        resident(self.process()).with_context(|| format!("the server has ended; output:\n{}", self.output()))
    }

    /// Kills the server immediately (SIGKILL).
    pub(crate) fn kill(mut self) -> Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }

    fn await_address(&mut self) -> Result<SocketAddr> {
        let started = Instant::now();
        loop {
            if let Some(address) = printed_address(&self.output())
                && TcpStream::connect(address).is_ok()
            {
                return Ok(address);
            }
            if let Some(status) = self.child.try_wait()? {
                bail!("the server exited with {status}; output:\n{}", self.output());
            }
            if started.elapsed() > START {
                bail!("the server did not print its address; output:\n{}", self.output());
            }
            thread::sleep(Duration::from_millis(5));
        }
    }

    fn output(&self) -> String {
        let output = fs::read(&self.log).unwrap_or_default();
        let tail = output.len().saturating_sub(4096);
        String::from_utf8_lossy(&output[tail..]).into_owned()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if !matches!(self.child.try_wait(), Ok(None)) {
            // The process has ended, and the kernel can reuse its id.
            return;
        }
        terminate(self.process());
        let started = Instant::now();
        while started.elapsed() < STOP {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            thread::sleep(Duration::from_millis(5));
        }
        // Errors mean that the child has already ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The first URL with a loopback address and a port in the output of a server. Other addresses, for example of the
/// store, are ignored.
fn printed_address(text: &str) -> Option<SocketAddr> {
    text.match_indices("http://127.0.0.1:").find_map(|(at, host)| {
        let digits = &text[at + host.len()..];
        let end = digits.find(|c: char| !c.is_ascii_digit())?;
        let port = digits[..end].parse().ok().filter(|&port| port != 0)?;
        Some(SocketAddr::from((Ipv4Addr::LOCALHOST, port)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_address_in_a_printed_line() {
        let found = printed_address("tasks are in 127.0.0.1:5432/nuncio\nlistening on http://127.0.0.1:4711/\n");
        assert_eq!(found, Some(SocketAddr::from(([127, 0, 0, 1], 4711))));
    }

    #[test]
    fn waits_for_the_end_of_the_line() {
        assert_eq!(printed_address("listening on http://127.0.0.1:47"), None);
    }
}
