import Byway
import BywayInterceptors
import BywayPrimitives
import BywayTerminal
import NIOCore

/// The copy of a program to another machine, through its shell.
///
/// The bytes go in pieces. Each piece is checked on the machine before it is added to a partial file, so that lost or damaged lines are
/// sent again, and a later copy continues behind the pieces that are there.
struct ProgramCopy {
  enum Stage: Equatable {
    case began(total: Int, there: Int)
    case copied(Int)
    case verified(with: String)
  }

  /// Bytes of a piece: with its command it fits into the input queue of a terminal, which has 4096.
  private static let piece = 2000
  /// Bytes of a piece as octal numbers, four characters each.
  private static let octalPiece = 800
  private static let attempts = 5

  let file: ProgramFile
  /// The path on the machine; `nil`: the file's name in /usr/local/bin, or in the home folder if that cannot be written.
  let path: String?
  let name: String
  /// For messages.
  let link: String
  let run: (_ command: String, _ limit: TimeAmount) async throws -> RemoteShell.Answer

  private struct Tools {
    let machine: String
    let hasBase64: Bool
    let hasChecksum: Bool
    let hasSHA256: Bool
    let hasGzip: Bool
  }

  /// Copies the program.
  /// - Returns: its path on the machine.
  func copy(_ observer: (Stage) -> Void) async throws -> String {
    let tools = try await tools()
    if let processor = file.processor, !processor.runs(on: tools.machine) {
      throw unavailable(
        "This program is for \(processor.rawValue), and \(link) is a machine of \(tools.machine): give another one with --program."
      )
    }
    let path = try await destination()
    let packed = tools.hasGzip ? try Gzip.encode(file.bytes) : file.bytes
    let isPacked = tools.hasGzip && packed.count < file.bytes.count
    let bytes = isPacked ? packed : file.bytes
    let part = PartFolder(for: path, sha256: file.sha256)
    var sent = try await begin(part, for: path, bytes, tools)
    observer(.began(total: bytes.count, there: sent))
    while sent < bytes.count {
      let size = tools.hasBase64 ? Self.piece : Self.octalPiece
      let piece = bytes[sent..<min(sent + size, bytes.count)]
      try await send(piece, at: sent, tools)
      sent += piece.count
      observer(.copied(piece.count))
    }
    try await finish(part, path, isPacked: isPacked, tools, observer)
    return path
  }

  // MARK: Steps

  private func tools() async throws -> Tools {
    let answer = try await ask(
      "uname -m; for t in base64 cksum sha256sum gzip; do command -v $t >/dev/null && echo has-$t; done; :")
    let words = answer.split(separator: "\n").map(String.init)
    let tools = Tools(
      machine: words.first { !$0.hasPrefix("has-") } ?? "unknown", hasBase64: words.contains("has-base64"),
      hasChecksum: words.contains("has-cksum"), hasSHA256: words.contains("has-sha256sum"),
      hasGzip: words.contains("has-gzip"))
    guard tools.hasSHA256 || tools.hasChecksum else {
      throw unavailable("\(link) has neither sha256sum nor cksum to verify the copy with: install one of them.")
    }
    return tools
  }

  private func destination() async throws -> String {
    if let path { return path }
    let folder = try await ask("d=/usr/local/bin; [ -d $d ] && [ -w $d ] || d=$HOME; echo \"$d\"")
    guard folder.hasPrefix("/"), ProgramCopy.isPath(folder) else {
      throw unavailable("\(link) has no folder for the program: give its path with --to.")
    }
    return "\(folder)/\(name)"
  }

  /// Whether a path has only characters that a terminal shows and that one line of a shell can contain.
  static func isPath(_ text: String) -> Bool { !text.isEmpty && text == text.visible }

  /// Enters the folder of the partial file, and prepares that.
  /// - Returns: how many bytes of it are there, and right.
  private func begin(_ part: PartFolder, for path: String, _ bytes: [UInt8], _ tools: Tools) async throws -> Int {
    let decode = tools.hasBase64 ? #"printf %s "$3" | base64 -d"# : #"printf "$3""#
    let sum = tools.hasChecksum ? #"cksum < "$q""# : #"sha256sum < "$q""#
    let add =
      #"if [ "$1" = "$n" ]; then \#(decode) > "$q" && [ "$(\#(sum))" = "$2" ] && cat "$q" >> "$f" && n=$((n + $4)); fi; [ "$n" -gt "$1" ]"#
    _ = try await ask("[ ! -d \(ShellWord.quoted(path)) ] || { echo 'this path is a folder'; false; }")
    _ = try await ask("umask 077; f=program; q=piece; p() { \(add); }; \(part.entry)")
    let known = try await ask(
      #": >> "$f"; wc -c < "$f"; \#(tools.hasChecksum ? #"cksum < "$f""# : #"sha256sum < "$f""#)"#)
    let lines = known.split(separator: "\n").map { String($0).trimmed }
    var there = lines.first.flatMap { Int($0) } ?? 0
    if !(0...bytes.count).contains(there) || lines.last != checksum(bytes[..<there], tools) { there = 0 }
    if there == 0 { _ = try await ask(#": > "$f""#) }
    _ = try await ask("n=\(there)")
    return there
  }

  private func send(_ piece: ArraySlice<UInt8>, at start: Int, _ tools: Tools) async throws {
    let text = tools.hasBase64 ? Base64.encode(piece) : Self.octal(piece)
    let command = "p \(start) '\(checksum(piece, tools))' '\(text)' \(piece.count)"
    var words = ""
    for _ in 0..<Self.attempts {
      do {
        let answer = try await run(command, .seconds(20))
        if answer.status == 0 { return }
        words = answer.text
      } catch RemoteShell.Failure.silent {
        words = "no answer"
      } catch RemoteShell.Failure.closed {
        throw closed()
      }
    }
    throw unavailable(
      "\(link) does not take the bytes after \(start) (\(words.isEmpty ? "they arrive damaged" : words.prefix(200).description.visible)): check the space and the rights there, then push again to continue."
    )
  }

  private func finish(
    _ part: PartFolder, _ path: String, isPacked: Bool, _ tools: Tools, _ observer: (Stage) -> Void
  ) async throws {
    // The packed file stays, so that each command can be run twice.
    let copy = isPacked ? "unpacked" : "program"
    if isPacked { _ = try await ask("gzip -dc < program > \(copy)") }
    let method = tools.hasSHA256 ? "sha256sum" : "cksum"
    let wanted = tools.hasSHA256 ? "\(file.sha256)  -" : POSIXChecksum.text(file.bytes)
    let found = try await ask("\(method) < \(copy)")
    guard found == wanted else {
      await remove(part)
      throw unavailable("The copy at \(link) is damaged, and was removed: push again.")
    }
    observer(.verified(with: method))
    let target = ShellWord.quoted(path)
    _ = try await ask(
      "if [ -e \(copy) ]; then [ ! -d \(target) ] && chmod 755 \(copy) && mv -f \(copy) \(target); else [ -e \(target) ]; fi"
    )
    await remove(part)
  }

  private func remove(_ part: PartFolder) async {
    _ = try? await ask("rm -f program piece unpacked")
    _ = try? await ask(part.removal)
  }

  // MARK: Helpers

  /// Runs a command that can be run twice, and returns its output.
  private func ask(_ command: String) async throws -> String {
    for attempt in 0... {
      do {
        let answer = try await run(command, .seconds(attempt == 0 ? 20 : 120))
        guard answer.status == 0 else {
          throw unavailable(
            "\(link) refused a command: \(answer.text.prefix(200).description.visible). Choose another path with --to.")
        }
        return answer.text
      } catch RemoteShell.Failure.silent where attempt < 1 {
        continue
      } catch RemoteShell.Failure.silent {
        break
      } catch RemoteShell.Failure.closed {
        throw closed()
      }
    }
    throw unavailable("\(link) has stopped to answer: check the cable, then push again to continue.")
  }

  private func closed() -> CommandFailure {
    unavailable("The shell at \(link) has ended: push again to continue.")
  }

  private func unavailable(_ message: String) -> CommandFailure { CommandFailure(.unavailable, message) }

  private func checksum(_ bytes: ArraySlice<UInt8>, _ tools: Tools) -> String {
    tools.hasChecksum ? POSIXChecksum.text(bytes) : "\(ProgramFile(bytes: Array(bytes)).sha256)  -"
  }

  private static func octal(_ bytes: ArraySlice<UInt8>) -> String {
    bytes.map { byte in
      let digits = String(byte, radix: 8)
      return "\\" + String(repeating: "0", count: 3 - digits.count) + digits
    }.joined()
  }
}
