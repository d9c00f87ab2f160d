import Byway
import Testing

@testable import BywayCommand
@testable import BywayDoctor

/// The last line of `byway doctor`.
@Suite("Text of the doctor") struct DoctorTextTests {
  @Test("the last line repeats no earlier remark, and no step repeats the last line")
  func once() {
    let noisy = Diagnosis(.noisyLine, "The line is noisy.", command: "byway links")
    let noted = LinkStep(title: "noise", outcome: .noted("4 errors.", noisy), duration: .zero)
    #expect(DoctorText.words(of: noted) == "4 errors. The line is noisy.")
    #expect(
      DoctorText.lastLine(of: Report(of: "serial:/x", [noted], nil, after: .zero))
        == "serial:/x works, with the note above. Run: byway links")
    let wrong = LinkStep(title: "noise", outcome: .wrong(noisy, saw: nil), duration: .zero)
    #expect(DoctorText.words(of: wrong) == "see below")
    #expect(
      DoctorText.lastLine(of: Report(of: "serial:/x", [wrong], nil, after: .zero))
        == "The line is noisy. Run: byway links")
  }
}
