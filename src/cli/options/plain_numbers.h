// How numbers are written on a command line.
#pragma once

namespace CLI {
class App;
}  // namespace CLI

namespace attn::cli {

/// Has the options of `command` whose value is N, SEED, R, A, S or SHARE take decimal numbers alone, which are finite
/// and which the option's type holds. CLI11 2.1 by itself reads 010 as eight, 2^64 as 2^64 - 1 and a seed of -1 as that
/// too, and nan lies in each of its ranges.
void take_plain_numbers(CLI::App& command);

}  // namespace attn::cli
