//! Cache coherence: which processors have a line, and what it costs to get it.
