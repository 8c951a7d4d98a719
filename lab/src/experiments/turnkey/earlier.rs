//! Records of the kind before, which can still be read. Alone and beside a cycler pools of all numbers were there at once, and took turns computation by
//! computation; under a quota each was measured in a process of its own. None of them has as many rotations as an interval takes. What their plans do
//! not say has a value that stands for that.

use serde::{Deserialize, Serialize};

use super::contestant::Contestant;
use super::once::{Setting, Subject};
use super::record::{Reading, Record, flaw};
use crate::record::Document;

/// Such a record.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Earlier(pub Record);

/// What is said of it.
pub const NOTE: &str = "This record is of the kind before: alone and beside a cycler pools of all numbers were there at once, and took turns computation by \
                        computation; under a quota each was measured in a process of its own";

impl Document for Earlier {
    const FORMAT: &'static str = "locksley-turnkey/2";

    fn format(&self) -> &str {
        &self.0.format
    }

    fn flaw(&self) -> Option<String> {
        let plan = &self.0.header.plan;
        flaw(&self.0, |found, subject| {
            let is_alone = matches!(subject, Subject::App { setting: Setting::Under(_), .. })
                == matches!(found.reading, Reading::Time { .. });
            let of = Contestant::on(&found.cell.runtime, found.cell.workers);
            let all = plan.contestants(subject);
            is_alone && all.contains(&of) && found.reading.is_of(subject, &all)
        })
    }
}

impl Record {
    /// Whether it is of that kind.
    pub(crate) fn is_earlier(&self) -> bool {
        self.format == Earlier::FORMAT
    }
}
