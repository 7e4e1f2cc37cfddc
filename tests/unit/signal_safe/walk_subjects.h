// Code to interrupt. In its own library, so that it calls others through its procedure linkage
// table, which is bound lazily.
#pragma once

#include <cstdint>

extern "C" {
void start_stepping();
void stop_stepping();

int subject_pushes(int depth);
int subject_leave();
int subject_tail();
int subject_rbx_frame();
int subject_saved_sp();
int subject_generated();
int subject_other_stack();
}

namespace fbleprof::test {

// Each returns a value that depends on all its work.
std::uint64_t sort_with_callbacks(int items);
std::uint64_t format_numbers(int count);
std::uint64_t match_regex(int count);
std::uint64_t throw_and_catch(int depth);
std::uint64_t throw_through_variable_frames(int depth);
std::uint64_t recurse(int depth);
std::uint64_t recurse_with_alloca(int depth);
std::uint64_t leaves(int count);
std::uint64_t aligned_frame(int a, int b, int c, int d, int e, int f, int g, int h);
std::uint64_t vector_strings(int count);
std::uint64_t allocate(int count);
std::uint64_t read_clock();
std::uint64_t jump_over_frames(int depth);
std::uint64_t virtual_tail_call(int depth);

}  // namespace fbleprof::test
