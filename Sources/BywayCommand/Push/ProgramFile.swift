import BywayPrimitives
import BywayTerminal
import Crypto

/// A program for another machine, with what its header says about the processor.
struct ProgramFile: Sendable {
  private static let limit = 256 << 20

  let bytes: [UInt8]
  /// The processor, as `uname -m` names it; `nil` if the file is no ELF file, such as a script.
  let processor: Processor?

  /// - Throws: ``CommandFailure`` if it cannot be read, or is empty.
  init(_ path: String) throws {
    do throws(SmallFile.Failure) {
      bytes = try SmallFile(path, limit: Self.limit).bytes
    } catch {
      throw CommandFailure(.noInput, "Cannot read \(path): \(error).")
    }
    guard !bytes.isEmpty else { throw CommandFailure(.noInput, "\(path) is empty: give a program with --program.") }
    processor = Processor(header: bytes)
  }

  init(bytes: [UInt8]) {
    self.bytes = bytes
    processor = Processor(header: bytes)
  }

  var sha256: String { Hex.text(SHA256.hash(data: bytes)) }
}

/// The kinds of processors that Linux programs are made for (elf(5)).
enum Processor: String, Sendable {
  case x86_64, i386, aarch64, arm, riscv64, riscv32, mips, ppc64, ppc64le, s390x
  case loongarch64
  case unknown

  /// Returns `nil` if these bytes do not begin an ELF file.
  init?(header: [UInt8]) {
    guard header.count >= 20, header.starts(with: [0x7F, 0x45, 0x4C, 0x46]) else { return nil }
    let is64 = header[4] == 2
    let isLittle = header[5] == 1
    let number = isLittle ? Int(header[18]) | Int(header[19]) << 8 : Int(header[19]) | Int(header[18]) << 8
    self =
      switch number {
      case 62: .x86_64
      case 3: .i386
      case 183: .aarch64
      case 40: .arm
      case 243: is64 ? .riscv64 : .riscv32
      case 8: .mips
      case 21: isLittle ? .ppc64le : .ppc64
      case 22: .s390x
      case 258: .loongarch64
      default: .unknown
      }
  }

  /// Whether a machine with that name runs such programs. An unknown name may be any machine.
  func runs(on machine: String) -> Bool {
    switch self {
    case .x86_64: ["x86_64", "amd64"].contains(machine)
    // A kernel of 64 bits usually runs these, too.
    case .i386: ["i386", "i486", "i586", "i686", "x86_64"].contains(machine)
    case .aarch64: ["aarch64", "arm64"].contains(machine)
    case .arm: machine.hasPrefix("arm") && machine != "arm64" || machine == "aarch64"
    case .mips: machine.hasPrefix("mips")
    case .riscv64, .riscv32, .ppc64, .ppc64le, .s390x, .loongarch64: machine == rawValue
    case .unknown: true
    }
  }
}
