//! A verification as JUnit XML, which CI systems show.

use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};
use wgpu_rmsnorm::verify::Status;

use crate::failure::Failure;
use crate::verify::Found;
use crate::whole_file::WholeFile;

/// Writes one suite an adapter.
pub fn write(all: &[Found], mut file: WholeFile) -> Result<(), Failure> {
    let mut report = Report::new("wgpu-rmsnorm verify");
    report.add_test_suites(all.iter().map(suite));
    let text = report.to_string().map_err(|e| Failure::new(format_args!("--junit: {e}"), "please report this"))?;
    file.write(text.as_bytes())?;
    file.commit()
}

fn suite(found: &Found) -> TestSuite {
    let mut suite = TestSuite::new(found.adapter.as_str());
    suite.set_time(found.time);
    if let Some(error) = &found.error {
        suite.add_test_case(TestCase::new("the device opens", failed(NonSuccessKind::Error, error)));
    }
    for (case, time) in &found.cases {
        let status = match &case.status {
            Status::Passed => TestCaseStatus::success(),
            Status::Failed(complaint) => failed(NonSuccessKind::Failure, complaint),
            Status::Broken(complaint) => failed(NonSuccessKind::Error, complaint),
            Status::Skipped(reason) => skipped(reason),
            _ => skipped("of a kind that this program does not know"),
        };
        let mut test = TestCase::new(case.name.as_str(), status);
        test.set_classname(case.kind).set_time(*time);
        suite.add_test_case(test);
    }
    suite
}

fn failed(kind: NonSuccessKind, message: &str) -> TestCaseStatus {
    let mut status = TestCaseStatus::non_success(kind);
    status.set_message(message);
    status
}

fn skipped(reason: &str) -> TestCaseStatus {
    let mut status = TestCaseStatus::skipped();
    status.set_message(reason);
    status
}
