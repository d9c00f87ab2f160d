import Testing

/// End-to-end tests on emulated serial lines. They run one at a time, but in parallel with the tests on other links: a line's rate keeps
/// the processor idle.
@Suite("End to end, serial lines", .serialized, .timeLimit(.minutes(5))) enum SerialEndToEnd {}
