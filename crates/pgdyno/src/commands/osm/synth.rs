//! `pgdyno osm synth`: a synthetic extract of any scale.

use std::io::{BufWriter, Write};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use osm::synth::{ExtractScale, SynthError, SynthOptions, SynthProgress, WrittenExtract, write};
use results::Table;
use server::Stop;

use crate::commands::{print, signals};
use crate::exit::{CommandFailure, ExitResult, INPUT_OUTPUT, INTERRUPTED, SAME_OR_BETTER};
use crate::options::{FormatOption, OutputFormat};
use crate::print::{data, talk};

/// Time between two progress lines.
const TOLD_EVERY: Duration = Duration::from_secs(5);

/// `pgdyno osm synth`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Size: 1 is about a million nodes; 0.001 to 10000, at most three decimals. A larger extract contains the smaller
    /// ones of its seed
    #[arg(long, default_value = "1", value_parser = scale)]
    scale: ExtractScale,
    /// Seed: each makes a different region
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Threads; the file is the same for any number [default: the machine's CPUs]
    #[arg(long, short = 'j', value_name = "N")]
    threads: Option<NonZeroUsize>,
    /// File to write (.osm.pbf); an existing one is replaced at the end
    #[arg(long, short = 'o', value_name = "FILE")]
    output: PathBuf,
    #[command(flatten)]
    format: FormatOption,
}

pub(super) fn scale(text: &str) -> Result<ExtractScale, String> {
    text.parse().map_err(|error: osm::synth::ScaleError| error.to_string())
}

pub(crate) fn run(args: &Args) -> ExitResult {
    let threads =
        args.threads.unwrap_or_else(|| std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN));
    let options = SynthOptions { scale: args.scale, seed: args.seed, threads };
    let stop = signals::listen_at_once()?;
    let made = into_file(&args.output, &options, &stop)?;
    match args.format.format {
        OutputFormat::Text => data(&format!("{}\n", args.output.display()))?,
        format => print(table(args, &made), format)?,
    }
    talk(&format!(
        "synthetic, scale {}, seed {}: {} nodes, {} ways, {} relations",
        args.scale, args.seed, made.nodes, made.ways, made.relations
    ));
    Ok(SAME_OR_BETTER)
}

/// Writes next to the file, then renames.
fn into_file(path: &Path, options: &SynthOptions, stop: &Stop) -> anyhow::Result<WrittenExtract> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let failed = |error: std::io::Error| {
        let hint = "look at the folder and its free space, or name another file with -o".to_owned();
        CommandFailure::with_code(
            INPUT_OUTPUT,
            format!("cannot write {}: {error}", path.display()),
            Some(hint),
        )
    };
    if path.is_dir() {
        return Err(failed(std::io::Error::from(std::io::ErrorKind::IsADirectory)));
    }
    let mut file = tempfile::Builder::new().prefix(".pgdyno-synth-").tempfile_in(folder).map_err(failed)?;
    let mut told = Told { next: Instant::now() + TOLD_EVERY };
    let mut out = BufWriter::new(&mut file);
    let made = write(options, &mut out, &mut |progress| told.hear(progress), &|| stop.at_once());
    let made = made.and_then(|made| out.flush().map(|()| made).map_err(SynthError::from));
    drop(out);
    let made = made.map_err(|error| match error {
        SynthError::Io(error) => failed(error),
        stopped @ SynthError::Stopped => {
            CommandFailure::with_code(INTERRUPTED, format!("{stopped}; nothing was written"), None)
        }
    })?;
    // Temporary files are readable only by their owner; an extract is not secret.
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o644);
    file.as_file().set_permissions(open).map_err(failed)?;
    file.persist(path).map_err(|error| failed(error.error))?;
    Ok(made)
}

struct Told {
    next: Instant,
}

impl Told {
    fn hear(&mut self, SynthProgress { kind, cells, of_cells }: SynthProgress) {
        if Instant::now() >= self.next {
            self.next = Instant::now() + TOLD_EVERY;
            let kind = format!("{kind:?}").to_lowercase();
            talk(&format!("{kind}: {} %", 100 * cells / of_cells.max(1)));
        }
    }
}

fn table(args: &Args, made: &WrittenExtract) -> Table {
    let mut table = Table::new(["path", "scale", "seed", "bytes", "nodes", "ways", "relations"]);
    table.push(vec![
        args.output.display().to_string().into(),
        args.scale.to_string().into(),
        args.seed.into(),
        made.bytes.into(),
        made.nodes.into(),
        made.ways.into(),
        made.relations.into(),
    ]);
    table
}
