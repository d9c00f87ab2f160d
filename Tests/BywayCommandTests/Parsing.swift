import Testing

/// Tests that parse many command lines, one test at a time: each occupies its thread for long, and other tests need threads.
@Suite("Command line parsing", .serialized) enum Parsing {}
