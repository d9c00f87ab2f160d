import Byway
import BywayPrimitives
import Glibc

/// Measures memory while 1 GiB passes through each streaming interceptor. A client, a link and a gateway run in one process,
/// a new one for each row. The exit status is 1 if the peak of a row is more than 64 MiB.
enum MemoryBenchmark {
  private static let limitKiB = 64 << 10

  static func run() throws {
    print("| 1 GiB through | peak MiB |\n|---|---|")
    var isGood = true
    for name in MemoryCase.names {
      let folder = try Folder.makeTemporary(in: "/tmp", prefix: "byway-memory")
      if try !succeeds("/proc/self/exe", ["interceptor-benchmark", "memory", name, folder]) { isGood = false }
      _ = try succeeds("/bin/rm", ["rm", "-rf", folder])
    }
    guard !isGood else { return }
    print("\nMore than \(limitKiB >> 10) MiB, or not all of it.")
    exit(1)
  }

  /// Measures one row, alone in its process.
  static func runCase(_ name: String, folder: String) async throws {
    var problem = ", and not all of it"
    do {
      if try await MemoryCase(name, folder: folder)?.run() == true { problem = "" }
    } catch {
      problem = ", and then: \(error)"
    }
    // The peak of resident memory, as counted by the kernel.
    var usage = rusage()
    getrusage(.init(RUSAGE_SELF.rawValue), &usage)
    print("| \(name) | \(usage.ru_maxrss >> 10)\(problem) |")
    exit(problem.isEmpty && usage.ru_maxrss <= limitKiB ? 0 : 1)
  }

  private static func succeeds(_ path: String, _ arguments: [String]) throws -> Bool {
    fflush(nil)
    let strings = arguments.map { strdup($0) }
    defer { for string in strings { free(string) } }
    var child = pid_t()
    guard posix_spawn(&child, path, nil, nil, strings + [nil], environ) == 0 else {
      throw BywayError(.invalidRequest, "Cannot start \(path).")
    }
    var status: Int32 = 0
    while waitpid(child, &status, 0) < 0, errno == EINTR {}
    return status == 0
  }
}
