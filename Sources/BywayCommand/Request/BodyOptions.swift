import ArgumentParser
import Byway
import BywayTerminal
import HTTPTypes

/// The options for the body of a request, with the names that curl uses.
struct BodyOptions: ParsableArguments {
  @Option(
    name: [.customShort("d", allowingJoined: true), .customLong("data"), .customLong("data-binary")],
    parsing: .unconditionalSingleValue,
    help: .value(
      "data",
      "Send this as the body: text, @FILE, or @- for standard input. Several are joined with &. A file is sent unchanged, as by "
        + "curl's --data-binary."))
  var data: [String] = []

  @Option(
    name: [.customShort("F", allowingJoined: true), .customLong("form")], parsing: .unconditionalSingleValue,
    help: .value(
      "name=content",
      "Send a form's field: name=text, name=@FILE (;type=… and ;filename=… may follow), or name=<FILE for the text in a file. May "
        + "be repeated."))
  var form: [String] = []

  @Option(
    name: [.customShort("T", allowingJoined: true), .customLong("upload-file")], parsing: .unconditional,
    help: .value(
      "file",
      "Send this file as the body; - is standard input. The URL is used as it is: unlike curl's, it gets no file name at its end."
    ),
    completion: .file())
  var uploadFile: String?

  /// The method of a request if the user gives none.
  var method: HTTPRequest.Method {
    uploadFile != nil ? .put : data.isEmpty && form.isEmpty ? .get : .post
  }

  /// - Returns: The type is `nil` if the user sets it.
  /// - Throws: ``CommandFailure`` if there are two bodies, or a file cannot be read.
  func body() throws -> (body: Body, type: String?) {
    guard [!data.isEmpty, !form.isEmpty, uploadFile != nil].count(where: \.self) <= 1 else {
      throw CommandFailure(.usage, "A request has only one body: give -d, -F or -T.")
    }
    if let uploadFile { return (try InputFile.body(uploadFile), nil) }
    if !form.isEmpty { return FormPart.form(try form.map { try FormPart($0) }) }
    guard let first = data.first else { return (.empty, nil) }
    let type = "application/x-www-form-urlencoded"
    guard data.count > 1 else { return (try Self.body(first), type) }
    let parts = try data.map(Self.body).flatMap { [Body("&"), $0] }.dropFirst()
    return (Body(joining: Array(parts)), type)
  }

  private static func body(_ data: String) throws -> Body {
    data.hasPrefix("@") ? try InputFile.body(String(data.dropFirst())) : Body(data)
  }
}
