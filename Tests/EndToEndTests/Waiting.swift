import Testing

/// Those end-to-end tests that hardly do anything but wait, with limits that leave room: one at a time as well, but at the same
/// time as the others, whom they do not disturb.
@Suite("End to end, slow tests", .serialized, .timeLimit(.minutes(5))) enum Waiting {}
