// Closures, inlined into each other. See native_lines.bats, which knows the names.
#[inline(always)]
fn spin(x: u32) -> u32 {
    let mut y = x;
    for _ in 0..40 {
        y = y.wrapping_mul(y).wrapping_add(y >> 3);
    }
    y
}

#[inline(always)]
fn step_of(i: u32) -> u32 {
    spin(i + 1)
}

mod numbers {
    #[inline(never)]
    pub fn total<F: Fn(u32) -> u32>(rounds: u32, step: F) -> u32 {
        (0..rounds).fold(0, |sum: u32, i| sum.wrapping_add(step(i)))
    }
}

#[no_mangle]
pub extern "C" fn hot(rounds: u32) -> u32 {
    numbers::total(rounds, step_of)
}
