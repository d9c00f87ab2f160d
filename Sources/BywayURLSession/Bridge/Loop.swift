/// Prevents loops. A client of a bridge may use `URLSession` itself, and its requests must not return to the same bridge.
enum Loop {
  /// The bridges on whose behalf the current Swift task runs.
  @TaskLocal static var bridges: [Bridge] = []
}
