//! Clients, and a server that can be killed, for the tests of the adapters: THREADKEEP_TEST_ADDRESS names a server that they share,
//! THREADKEEP_TEST_PROGRAM the program of one of a test's own.

use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use threadkeep::{Client, Retry, new_event_id};

/// A client whose calls wait for a server that is started again.
pub(crate) fn client_of(address: &str) -> Client {
    let retry = Retry::default().max_attempts(1_000).pauses(Duration::from_millis(50), Duration::from_millis(200));
    Client::builder().address(address).timeout(Duration::from_secs(120)).retry(retry).build().expect("a client")
}

/// A client of the shared server, and an app of the test's own.
pub(crate) fn shared() -> (Client, String) {
    let address = std::env::var("THREADKEEP_TEST_ADDRESS").expect("THREADKEEP_TEST_ADDRESS names no server");
    (client_of(&address), format!("rust-{}", new_event_id()))
}

/// A server of a test's own, on SQLite in a folder that survives it.
#[derive(Debug)]
pub(crate) struct Killable {
    pub(crate) address: String,
    folder: PathBuf,
    process: Mutex<Child>,
}

impl Killable {
    pub(crate) fn start() -> Arc<Self> {
        let free = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = free.local_addr().expect("an address").to_string();
        drop(free);
        let folder = std::env::temp_dir().join(format!("threadkeep-{}", new_event_id()));
        std::fs::create_dir(&folder).expect("a folder");
        let process = Mutex::new(serve(&address, &folder));
        Arc::new(Self { address, folder, process })
    }

    /// Kills the server, which has no time to end anything, and starts it again on its port.
    pub(crate) fn kill_and_start(&self) {
        let mut process = self.process.lock().expect("no test has panicked");
        kill(&mut process);
        // What stands in for the program in the short form ends a moment before it.
        while TcpStream::connect(&self.address).is_ok() {
            std::thread::sleep(Duration::from_millis(5));
        }
        *process = serve(&self.address, &self.folder);
    }
}

impl Drop for Killable {
    fn drop(&mut self) {
        kill(self.process.get_mut().expect("no test has panicked"));
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn serve(address: &str, folder: &std::path::Path) -> Child {
    let program = std::env::var("THREADKEEP_TEST_PROGRAM").expect("THREADKEEP_TEST_PROGRAM names no server program");
    let arguments = ["serve", "--grpc-address", address, "--http-address", "", "--data-dir"];
    let mut command = Command::new(program);
    command.args(arguments).arg(folder).stdout(Stdio::null()).stderr(Stdio::null());
    let mut process = command.spawn().expect("a server");
    while TcpStream::connect(address).is_err() {
        assert_eq!(process.try_wait().expect("a process"), None, "the server ended");
        std::thread::sleep(Duration::from_millis(50));
    }
    process
}

fn kill(process: &mut Child) {
    process.kill().expect("it runs");
    process.wait().expect("it ends");
}
