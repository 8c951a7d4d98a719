//! Where something runs.

/// A number that this thread has for itself.
pub(super) fn place() -> usize {
    thread_local! {
        static PLACE: u8 = const { 0 };
    }
    PLACE.with(|place| std::ptr::from_ref(place).addr())
}

#[cfg(test)]
mod tests {
    use super::place;

    #[test]
    fn threads_have_places_of_their_own() {
        let here = place();
        assert_eq!(place(), here);
        // This thread lives on meanwhile.
        assert_ne!(std::thread::spawn(place).join().unwrap(), here);
    }
}
