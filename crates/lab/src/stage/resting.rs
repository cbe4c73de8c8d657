//! Servers that are stopped while another one runs alone.
use spec::Error;

use super::Stage;

impl Stage {
    pub(crate) fn is_at_rest(&self) -> bool {
        self.at_rest
    }

    pub(crate) fn rest(&mut self) -> Result<(), Error> {
        if self.at_rest {
            return Ok(());
        }
        self.disconnect();
        if let Ok(cluster) = self.target.cluster() {
            cluster.stop()?;
            self.at_rest = true;
        }
        Ok(())
    }

    /// Starts a temporarily stopped server, with its settings.
    pub(crate) fn wake(&mut self) -> Result<(), Error> {
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
