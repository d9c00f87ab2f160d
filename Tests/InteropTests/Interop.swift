import Testing

/// Other people's clients and servers. One test at a time: some measure moments, and all start processes.
@Suite("Interoperability", .serialized, .timeLimit(.minutes(5))) enum Interop {}
