/// Measures the cost of interceptors: time or memory.
///
///     swift run -c release interceptor-benchmark
///     swift run -c release interceptor-benchmark memory
@main struct InterceptorBenchmark {
  static func main() async throws {
    let arguments = CommandLine.arguments.dropFirst()
    switch arguments.count {
    case 0: try await TimeBenchmark.run()
    case 1 where arguments.first == "memory": try MemoryBenchmark.run()
    case 3: try await MemoryBenchmark.runCase(arguments[2], folder: arguments[3])
    default: print("interceptor-benchmark [memory]")
    }
  }
}
