import Testing

/// End-to-end tests that mostly wait, with generous limits. They run one at a time, but in parallel with the others, which
/// they do not disturb.
@Suite("End to end, slow tests", .serialized, .timeLimit(.minutes(5))) enum Waiting {}
