// What libFuzzer calls; compiled together with LinkLayer and Tests/LinkLayerTests/Attack.swift: see run.

@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzLinkLayer(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  var attack = Attack(UnsafeBufferPointer(start: start, count: count))
  attack.run()
  return 0
}
