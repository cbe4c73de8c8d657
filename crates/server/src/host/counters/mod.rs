//! Instructions and CPU cycles of a server's processes, where the machine has hardware counters: most virtual
//! machines have none.

#[cfg_attr(target_os = "linux", path = "linux.rs")]
#[cfg_attr(not(target_os = "linux"), path = "elsewhere.rs")]
mod system;

use spec::figures::{self, Figures};

/// Counters of a server, from when they were opened.
pub struct HardwareCounters(system::Counters);

impl HardwareCounters {
    /// Opens them for a postmaster, its living children, and all that these start later.
    ///
    /// # Errors
    /// Why there are none.
    pub fn open(postmaster: u32) -> Result<Self, String> {
        system::open(postmaster).map(Self)
    }

    /// Instructions and cycles in user space so far; empty where they could not be read.
    #[must_use]
    pub fn figures(&mut self) -> Figures {
        match self.0.read() {
            Some([instructions, cycles]) => {
                [(figures::SERVER_INSTRUCTIONS, instructions), (figures::SERVER_CYCLES, cycles)].into()
            }
            None => Figures::default(),
        }
    }
}

/// Whether this machine has hardware counters, or why not, in words.
pub(super) fn availability() -> String {
    match system::open(std::process::id()) {
        Ok(_) => "available".to_owned(),
        Err(why) => format!("not available: {why}"),
    }
}
