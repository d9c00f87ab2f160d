import HTTP1Checks

/// What libFuzzer calls with each input that it has thought of. A trap is how it learns of a finding.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzHTTP1(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  do {
    try HTTP1Check.check(Array(UnsafeBufferPointer(start: start, count: count)))
  } catch {
    fatalError("\(error)")
  }
  return 0
}
