import Testing

/// Third-party clients and servers. Tests run one at a time: some measure time, and all start processes.
@Suite("Interoperability", .serialized, .timeLimit(.minutes(5))) enum Interop {}
