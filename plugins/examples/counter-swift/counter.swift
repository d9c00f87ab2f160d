// Counts the pages that pass, and writes the number into each.
//
//     swiftc -O counter.swift
//     ./counter /run/user/1000/counter.sock
//     byway proxy … --interceptor 'unix:/run/user/1000/counter.sock?http=1.1'
//
// Needs Swift 6 and nothing else: no package, and no library for HTTP. Each connection carries one request, so that most of a request
// and of a response passes as bytes, whatever it is. Only heads, and the chunks of pages, are read.
import Foundation

/// A file descriptor with what has been read too early.
final class Connection: @unchecked Sendable {
  let descriptor: Int32
  private var buffer: [UInt8] = []

  init(_ descriptor: Int32) { self.descriptor = descriptor }

  /// Connects to a Unix socket, or listens on it.
  static func unix(_ path: String, _ use: (Int32, UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Connection? {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    guard path.utf8.count < MemoryLayout.size(ofValue: address.sun_path) else { return nil }
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    let result = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        use(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    guard result == 0 else {
      close(descriptor)
      return nil
    }
    return Connection(descriptor)
  }

  /// Returns some bytes, or none at the end.
  func read(_ limit: Int = 65536) -> [UInt8] {
    if !buffer.isEmpty {
      let bytes = Array(buffer.prefix(limit))
      buffer.removeFirst(bytes.count)
      return bytes
    }
    return [UInt8](unsafeUninitializedCapacity: min(limit, 65536)) { space, count in
      count = max(0, recv(descriptor, space.baseAddress, space.count, 0))
    }
  }

  /// Returns a line without its end, or nil if there is none.
  func line() -> String? {
    while true {
      if let end = buffer.firstIndex(of: 10) {
        let line = buffer[..<end]
        buffer.removeFirst(end + 1)
        return String(decoding: line.last == 13 ? line.dropLast() : line, as: UTF8.self)
      }
      guard buffer.count < 262_144 else { return nil }
      let more = [UInt8](unsafeUninitializedCapacity: 65536) { space, count in
        count = max(0, recv(descriptor, space.baseAddress, space.count, 0))
      }
      guard !more.isEmpty else { return nil }
      buffer += more
    }
  }

  @discardableResult func write(_ bytes: [UInt8]) -> Bool {
    var sent = 0
    while sent < bytes.count {
      let count = bytes.withUnsafeBytes {
        send(descriptor, $0.baseAddress?.advanced(by: sent), $0.count - sent, Int32(MSG_NOSIGNAL))
      }
      guard count > 0 else { return false }
      sent += count
    }
    return true
  }

  @discardableResult func write(_ text: String) -> Bool { write(Array(text.utf8)) }

  func end() { shutdown(descriptor, Int32(SHUT_RDWR)) }

  /// Closes it. No use of it may follow.
  func finish() { close(descriptor) }
}

/// The first line and the fields of a message.
struct Head {
  var first: String
  var fields: [(name: String, line: String)] = []

  init?(_ source: Connection) {
    guard let first = source.line() else { return nil }
    self.first = first
    while let line = source.line(), fields.count < 1000 {
      if line.isEmpty { return }
      fields.append((line.prefix { $0 != ":" }.lowercased(), line))
    }
    return nil
  }

  subscript(_ name: String) -> String? {
    guard let field = fields.first(where: { $0.name == name }) else { return nil }
    return field.line.dropFirst(name.count + 1).trimmingCharacters(in: .whitespaces)
  }

  mutating func set(_ name: String, _ value: String?) {
    fields.removeAll { $0.name == name }
    if let value { fields.append((name, "\(name): \(value)")) }
  }

  var text: String { ([first] + fields.map(\.line)).joined(separator: "\r\n") + "\r\n\r\n" }
  var status: Int { Int(first.split(separator: " ").dropFirst().first ?? "") ?? 0 }
}

final class Counter: @unchecked Sendable {
  private let lock = NSLock()
  private var pages = 0

  func next() -> Int {
    lock.withLock {
      pages += 1; return pages
    }
  }
}

let counter = Counter()

/// Copies `count` bytes, or all, and returns whether they were there.
@discardableResult func copy(_ source: Connection, _ target: Connection, _ count: Int = .max) -> Bool {
  var left = count
  while left > 0 {
    let bytes = source.read(left)
    guard !bytes.isEmpty, target.write(bytes) else { return false }
    if left != .max { left -= bytes.count }
  }
  return true
}

/// Sends a page with text at its end.
func sendPage(_ response: Head, _ text: String, _ hop: Connection, _ client: Connection) {
  var response = response
  if response["transfer-encoding"]?.lowercased() == "chunked" {
    client.write(response.text)
    while let line = hop.line(), let size = Int(line.prefix { $0.isHexDigit }, radix: 16) {
      if size == 0 {
        client.write("\(String(text.utf8.count, radix: 16))\r\n\(text)\r\n0\r\n")
        while let trailer = hop.line() {
          client.write("\(trailer)\r\n")
          if trailer.isEmpty { break }
        }
        return
      }
      client.write("\(line)\r\n")
      guard copy(hop, client, size + 2) else { return }
    }
  } else if let length = response["content-length"].flatMap({ Int($0) }) {
    response.set("content-length", String(length + text.utf8.count))
    client.write(response.text)
    if copy(hop, client, length) { client.write(text) }
  } else {
    client.write(response.text)
    copy(hop, client)
    client.write(text)
  }
}

func serve(_ client: Connection) {
  defer { client.finish() }
  guard var request = Head(client), let address = request["byway-next"] else { return }
  guard let hop = Connection.unix(String(address.dropFirst("unix:".count)), connect) else {
    client.write("HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
    return
  }
  defer { hop.finish() }
  request.set("byway-next", nil)
  request.set("accept-encoding", nil)
  if request["upgrade"] == nil { request.set("connection", "close") }
  hop.write(request.text)
  let upload = DispatchSemaphore(value: 0)
  Thread.detachNewThread {
    copy(client, hop)
    hop.end()
    upload.signal()
  }
  while var response = Head(hop) {
    if response.status < 200 && response.status != 101 {
      client.write(response.text)
      continue
    }
    if response.status != 101 { response.set("connection", "close") }
    if response.status == 200 && !request.first.hasPrefix("HEAD ") && response["content-encoding"] == nil
      && response["content-type"]?.hasPrefix("text/html") == true
    {
      sendPage(response, "<p>Page \(counter.next())</p>", hop, client)
    } else {
      client.write(response.text)
      copy(hop, client)
    }
    break
  }
  client.end()
  upload.wait()
}

let path = CommandLine.arguments[1]
unlink(path)
umask(0o077)
guard let listener = Connection.unix(path, bind), listen(listener.descriptor, 512) == 0 else { exit(1) }
while true {
  let descriptor = accept(listener.descriptor, nil, nil)
  guard descriptor >= 0 else { continue }
  let client = Connection(descriptor)
  Thread.detachNewThread { serve(client) }
}
