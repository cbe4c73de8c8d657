//! Which part this process is, as cluster managers tell their tasks.

/// K, from 1, and N. `given` is N where the user knows it.
///
/// # Errors
/// Why it is not told.
pub(super) fn told(
    given: Option<u32>,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<(u32, u32), String> {
    let environment = Environment(&variable);
    let mut found = Vec::new();
    for of in [Environment::mpi, Environment::array, Environment::slurm_task, Environment::kubernetes] {
        found.extend(of(&environment, given)?);
    }
    // srun tells each task of a step what MPI tells it too.
    found.dedup_by(|one, other| (one.number, one.of) == (other.number, other.of));
    let told = match &found[..] {
        [] => {
            return Err(
                "no variable of Slurm, MPI or Kubernetes names a part of several: SLURM_ARRAY_TASK_ID, \
                        SLURM_PROCID, OMPI_COMM_WORLD_RANK, PMI_RANK, JOB_COMPLETION_INDEX"
                    .to_owned(),
            );
        }
        [told] => told,
        [one, other, ..] => {
            return Err(format!(
                "{} tells part {} of {}, and {} tells part {} of {}",
                one.by, one.number, one.of, other.by, other.number, other.of
            ));
        }
    };
    match given {
        Some(given) if given != told.of => {
            Err(format!("{} tells part {} of {}, and not of {given}", told.by, told.number, told.of))
        }
        _ => Ok((told.number, told.of)),
    }
}

/// A part, and the variable that told it.
struct Told {
    by: &'static str,
    number: u32,
    of: u32,
}

struct Environment<'a>(&'a dyn Fn(&str) -> Option<String>);

impl Environment<'_> {
    fn number(&self, name: &'static str) -> Result<Option<u32>, String> {
        let text = (self.0)(name).filter(|text| !text.is_empty());
        let wrong = |text: String| format!("{name} is {}, not a number", spec::visible::line(&text));
        text.map(|text| text.trim().parse().map_err(|_| wrong(text))).transpose()
    }

    /// A rank from 0 and a size.
    fn rank(&self, rank: &'static str, size: &'static str) -> Result<Option<Told>, String> {
        match (self.number(rank)?, self.number(size)?) {
            (Some(number), Some(of)) if number < of => Ok(Some(Told { by: rank, number: number + 1, of })),
            (Some(number), Some(of)) => Err(format!("{rank} is {number}, and {size} is {of}")),
            _ => Ok(None),
        }
    }

    /// Variables of Open MPI, of MPICH and of Intel MPI. A single rank does not count.
    fn mpi(&self, _given: Option<u32>) -> Result<Option<Told>, String> {
        let open = self.rank("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE")?;
        let told = open.map_or_else(|| self.rank("PMI_RANK", "PMI_SIZE"), |told| Ok(Some(told)))?;
        Ok(told.filter(|told| told.of > 1))
    }

    /// A job array: its ids may begin anywhere and have a step.
    fn array(&self, _given: Option<u32>) -> Result<Option<Told>, String> {
        const BY: &str = "SLURM_ARRAY_TASK_ID";
        let Some(id) = self.number(BY)? else { return Ok(None) };
        let number = |name| self.number(name);
        let of = number("SLURM_ARRAY_TASK_COUNT")?.ok_or("SLURM_ARRAY_TASK_COUNT is not set")?;
        let least = number("SLURM_ARRAY_TASK_MIN")?.unwrap_or(0);
        let step = number("SLURM_ARRAY_TASK_STEP")?.unwrap_or(1).max(1);
        let most = number("SLURM_ARRAY_TASK_MAX")?;
        if of <= 1 {
            // A lost part may have been submitted alone.
            return Err(format!("the job array has one task, {id}, which does not tell of how many parts"));
        }
        let has_gaps = most
            .is_some_and(|most| u64::from(least) + u64::from(of - 1) * u64::from(step) != u64::from(most));
        let place = id.checked_sub(least).filter(|after| after % step == 0).map(|after| after / step);
        match place.filter(|place| *place < of && !has_gaps) {
            Some(place) => Ok(Some(Told { by: BY, number: place + 1, of })),
            None => Err(format!(
                "the ids of the job array have gaps, so that its task {id} may be any of {of} parts"
            )),
        }
    }

    /// A task of a step that srun started. A single task does not count.
    fn slurm_task(&self, _given: Option<u32>) -> Result<Option<Told>, String> {
        Ok(self.rank("SLURM_PROCID", "SLURM_NTASKS")?.filter(|told| told.of > 1))
    }

    /// An Indexed Job, which does not tell the number of its completions.
    fn kubernetes(&self, given: Option<u32>) -> Result<Option<Told>, String> {
        const BY: &str = "JOB_COMPLETION_INDEX";
        let Some(index) = self.number(BY)? else { return Ok(None) };
        match given {
            None => Err(format!("{BY} is {index}, and the number of parts is unknown: --part auto/N")),
            Some(of) if index < of => Ok(Some(Told { by: BY, number: index + 1, of })),
            Some(of) => Err(format!("{BY} is {index}, and there are {of} parts")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(given: Option<u32>, variables: &[(&str, &str)]) -> Result<(u32, u32), String> {
        told(given, |name| {
            variables.iter().find(|(own, _)| *own == name).map(|(_, value)| (*value).to_owned())
        })
    }

    fn array(
        id: &'static str,
        count: &'static str,
        [least, most, step]: [&'static str; 3],
    ) -> Vec<(&'static str, &'static str)> {
        vec![
            ("SLURM_ARRAY_TASK_ID", id),
            ("SLURM_ARRAY_TASK_COUNT", count),
            ("SLURM_ARRAY_TASK_MIN", least),
            ("SLURM_ARRAY_TASK_MAX", most),
            ("SLURM_ARRAY_TASK_STEP", step),
        ]
    }

    #[test]
    fn each_manager_tells_its_tasks() {
        assert_eq!(of(None, &array("0", "4", ["0", "3", "1"])), Ok((1, 4)));
        assert_eq!(of(None, &array("7", "3", ["3", "7", "2"])), Ok((3, 3)));
        assert_eq!(of(None, &[("SLURM_PROCID", "2"), ("SLURM_NTASKS", "3")]), Ok((3, 3)));
        assert_eq!(of(Some(8), &[("JOB_COMPLETION_INDEX", "7")]), Ok((8, 8)));
        assert_eq!(of(None, &[("OMPI_COMM_WORLD_RANK", "1"), ("OMPI_COMM_WORLD_SIZE", "2")]), Ok((2, 2)));
        assert_eq!(of(None, &[("PMI_RANK", "0"), ("PMI_SIZE", "2")]), Ok((1, 2)));
        // MPI under srun, and a batch script with a single task.
        let both = [("PMI_RANK", "1"), ("PMI_SIZE", "2"), ("SLURM_PROCID", "1"), ("SLURM_NTASKS", "2")];
        assert_eq!(of(None, &both), Ok((2, 2)));
        let of_batch =
            [array("2", "2", ["1", "2", "1"]), vec![("SLURM_PROCID", "0"), ("SLURM_NTASKS", "1")]].concat();
        assert_eq!(of(Some(2), &of_batch), Ok((2, 2)));
    }

    #[test]
    fn what_does_not_tell_a_part_is_no_part() {
        type Variables = Vec<(&'static str, &'static str)>;
        let cases: [(Option<u32>, Variables, &str); 9] = [
            (None, vec![], "no variable of Slurm"),
            (None, vec![("SLURM_PROCID", "0"), ("SLURM_NTASKS", "1")], "names a part of several"),
            (None, vec![("JOB_COMPLETION_INDEX", "1")], "--part auto/N"),
            (Some(2), vec![("JOB_COMPLETION_INDEX", "2")], "is 2, and there are 2 parts"),
            (None, array("3", "1", ["3", "3", "1"]), "has one task, 3"),
            (None, array("5", "3", ["1", "9", "1"]), "have gaps"),
            (None, vec![("SLURM_PROCID", "x"), ("SLURM_NTASKS", "2")], "SLURM_PROCID is x, not a number"),
            (Some(3), array("0", "4", ["0", "3", "1"]), "and not of 3"),
            (
                None,
                [array("1", "2", ["1", "2", "1"]), vec![("SLURM_PROCID", "1"), ("SLURM_NTASKS", "3")]]
                    .concat(),
                "SLURM_ARRAY_TASK_ID tells part 1 of 2, and SLURM_PROCID tells part 2 of 3",
            ),
        ];
        for (given, variables, wanted) in cases {
            let error = of(given, &variables).unwrap_err();
            assert!(error.contains(wanted), "{error}");
        }
    }
}
