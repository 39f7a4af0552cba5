//! Calls into wgpu whose errors come back as [`Error`] instead of a panic or a silent zero.

use std::future::Future;

use crate::error::{Error, Result};

/// Runs `work` in error scopes of its own. The scopes close before this returns; only their findings are awaited, which on
/// native are ready at once.
pub(crate) fn checked<T, W: FnOnce() -> T>(
    device: &wgpu::Device,
    call: &'static str,
    work: W,
) -> impl Future<Output = Result<T>> + use<T, W> {
    let scopes = open(device);
    let value = work();
    let findings = close(scopes, call);
    async move {
        findings.await?;
        Ok(value)
    }
}

/// The scopes. This and the next are functions of their own so that they are compiled once, and not for every call.
fn open(device: &wgpu::Device) -> Vec<wgpu::ErrorScopeGuard> {
    let filters = [wgpu::ErrorFilter::OutOfMemory, wgpu::ErrorFilter::Internal, wgpu::ErrorFilter::Validation];
    filters.map(|filter| device.push_error_scope(filter)).into()
}

/// Closes the scopes, the last that was opened first, and hands out what they found.
fn close(scopes: Vec<wgpu::ErrorScopeGuard>, call: &'static str) -> impl Future<Output = Result<()>> + use<> {
    let findings: Vec<_> = scopes.into_iter().rev().map(wgpu::ErrorScopeGuard::pop).collect();
    async move {
        for finding in findings {
            if let Some(error) = finding.await {
                return Err(translate(call, &error));
            }
        }
        Ok(())
    }
}

fn translate(call: &'static str, error: &wgpu::Error) -> Error {
    let message = full_message(error);
    match error {
        wgpu::Error::OutOfMemory { .. } => Error::OutOfMemory { call, message },
        _ if message.contains("is lost") => Error::DeviceLost { call, message },
        _ => Error::Wgpu { call, message },
    }
}

/// An error with its causes, on one line.
fn full_message(error: &dyn std::error::Error) -> String {
    let mut message = error.to_string();
    let mut cause = error.source();
    while let Some(next) = cause {
        let text = next.to_string();
        if !message.contains(&text) {
            message = format!("{message}: {text}");
        }
        cause = next.source();
    }
    message.split_whitespace().collect::<Vec<_>>().join(" ")
}
