// Starts the profile of a process.
//
// A profile starts with the process, or with the fork that made it (fork_child), and ends with
// exit, a fatal signal (ending, fatal_signals) or exec (exec). Each file of this folder includes
// only files to its left in this list:
//
//   text, glob, clock, kernel_file, large_stack, wrappers < loader_symbols, stack_bounds,
//     own_memory <
//     options < allocations < waits < program_path < process_facts < children, output_name <
//     output_file < sampling_timer < signals < thread_memory, thread_choice < threads <
//     signal_stack, found_threads < modules < text_memory < hook_copy < metrics, description <
//     profile < adapters, plans, module_choice < unknown_names, filters, next_environment < slots
//     < rewriting < exact < module_image < hook_sites < switching < throttling, unrecorded <
//     control, kept_snapshots, loading < text_changes < confinement, leaks < runtime_file,
//     generated_functions < perf_map, jitdump, gdb_jit < ending, locked_memory < fatal_signals <
//     fork_child < program_actions, exec < process < attached, attached_filter, attached_loading <
//     attached_exact, attached_calls < attached_orders < api < block_registry, green_threads,
//     profiles, runtime_readers < fibers, query
//
// scripts/check_layers enforces this order.
#pragma once

namespace fbleprof::capture {

// Starts the profile of this process. Before main; once. `tell_end`: as in find_threads_later; not
// used if threads are found later.
void start_process(char** environment, void (*tell_end)());

}  // namespace fbleprof::capture
