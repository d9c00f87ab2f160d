import Testing

/// What has the parser read many command lines, one after another: it takes its thread for long, and others need theirs.
@Suite("Command line parsing", .serialized) enum Parsing {}
