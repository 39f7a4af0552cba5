//! Choices of the plan that are taken out of its hands.

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use wgpu_rmsnorm::{Access, Force, Reduction, Rung};

/// Flags that `explain` and `bench` have in common.
#[derive(Debug, Args)]
#[command(next_help_heading = "The plan")]
pub struct Forced {
    /// Plan this rung
    #[arg(long, value_parser = PossibleValuesParser::new(Rung::ALL.map(Rung::name)).try_map(|name| name.parse::<Rung>()))]
    rung: Option<Rung>,
    /// Plan no access wider than this
    #[arg(long, value_parser = PossibleValuesParser::new(Access::ALL.map(Access::name)).try_map(|name| name.parse::<Access>()))]
    access: Option<Access>,
    /// Plan at most this many invocations a row
    #[arg(long, value_name = "INVOCATIONS", value_parser = clap::value_parser!(u32).range(1..))]
    width: Option<u32>,
    /// Join the lanes of a row in this way
    #[arg(long, value_parser = PossibleValuesParser::new(Reduction::ALL.map(Reduction::name)).try_map(|name| name.parse::<Reduction>()))]
    reduction: Option<Reduction>,
    /// Plan workgroups of about this many invocations
    #[arg(long, value_name = "INVOCATIONS", value_parser = clap::value_parser!(u32).range(1..))]
    workgroup: Option<u32>,
}

impl Forced {
    /// What is forced.
    pub fn force(&self) -> Force {
        let mut force = Force::default();
        (force.rung, force.access, force.width) = (self.rung, self.access, self.width);
        (force.reduction, force.workgroup) = (self.reduction, self.workgroup);
        force
    }
}
