//! Servers that are stopped while another one works alone.

use super::Stage;
use crate::error::LabError;

impl Stage {
    /// Whether it is stopped for a while.
    pub(crate) fn is_at_rest(&self) -> bool {
        self.at_rest
    }

    /// Stops a server of ours until it is woken.
    pub(crate) fn rest(&mut self) -> Result<(), LabError> {
        if self.at_rest {
            return Ok(());
        }
        self.let_go();
        if let Ok(cluster) = self.target.cluster() {
            cluster.stop()?;
            self.at_rest = true;
        }
        Ok(())
    }

    /// Starts a server that was stopped for a while, with the settings that it had.
    pub(crate) fn wake(&mut self) -> Result<(), LabError> {
        if !self.at_rest {
            return Ok(());
        }
        if let Ok(cluster) = self.target.cluster() {
            cluster.start()?;
        }
        self.at_rest = false;
        Ok(())
    }
}
