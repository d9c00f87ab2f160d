import BywayPrimitives

/// The folder of a partial copy, beside the program.
///
/// Other users may write to the folder of the program, such as /tmp. So the files are in a folder that only its user can enter, and a link
/// in its place is not followed.
struct PartFolder {
  private let parent: String
  private let name: String

  init(for path: String, sha256: String) {
    let last = path.lastIndex(of: "/") ?? path.startIndex
    parent = ShellWord.quoted(String(path[...last]))
    name = ShellWord.quoted(path[last...].drop { $0 == "/" } + ".part-" + sha256.prefix(8))
  }

  /// The command that makes the folder, if it is missing, and enters it. What it finds out about the folder does not change afterwards,
  /// because it is the current one.
  var entry: String {
    #"cd -P \#(parent) && w=$(pwd -P) && { [ -d ./\#(name) ] || mkdir ./\#(name); } && cd -P ./\#(name) && "#
      + #"{ [ "$(pwd -P)" = "${w%/}/"\#(name) ] && [ -O . ] || { echo \#(name)" belongs to another user"; false; }; }"#
  }

  /// The command that leaves the folder, and removes it if it is empty.
  var removal: String { #"cd -P \#(parent) && { rmdir ./\#(name) 2>/dev/null; :; }"# }
}
