//! What happens when the library is loaded.

use crate::environment::read_if_linked;
use crate::race_detector;
use crate::team::begin_process;

extern "C" fn load() {
    race_detector::find();
    read_if_linked();
    begin_process();
}

#[used]
#[unsafe(link_section = ".init_array")]
static AT_LOAD: extern "C" fn() = load;
