// The syntax of numbers on the command line.
#pragma once

namespace CLI {
class App;
}  // namespace CLI

namespace attn::cli {

/// Restricts the options of `command` whose value is N, SEED, R, A, S or SHARE to finite decimal numbers in the range
/// of the type. CLI11 2.1 itself reads 010 as eight, wraps 2^64 and negative seeds, and accepts nan in every range.
void take_plain_numbers(CLI::App& command);

}  // namespace attn::cli
