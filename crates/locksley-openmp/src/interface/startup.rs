//! What happens when the library is loaded.

use crate::environment::announce;
use crate::race_detector;
use crate::team::begin_process;

/// Reads the environment, so that its faults are told even if the program never uses OpenMP.
extern "C" fn load() {
    race_detector::find();
    announce();
    begin_process();
}

#[used]
#[unsafe(link_section = ".init_array")]
static AT_LOAD: extern "C" fn() = load;
