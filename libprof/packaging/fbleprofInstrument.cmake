# fbleprof_instrument(TARGET...): compiles each target with the best hooks that the compiler offers.
#
# gcc 8, clang 10 and later: -fpatchable-function-entry=5: room for a call at the start of each function
#   that is not inlined. Without the recorder, and while recording is off, nothing is called.
# older gcc: -pg -mfentry: a call there, and tail calls stay. The target is not linked with -pg:
#   glibc's own profiler would only be told to keep quiet.
# older clang: -finstrument-functions-after-inlining: likewise only functions that are left after
#   inlining.
# others: -finstrument-functions, which hooks inlined functions too: those of system headers, where
#   the compiler can tell, are left out, or a loop over a std::vector calls millions of hooks.
include(CheckCCompilerFlag)
include(CheckCXXCompilerFlag)

# The first of some lists of flags that the compiler of LANGUAGE accepts; each is a string.
function(_fbleprof_hook_flags language result)
  set(${result} "" PARENT_SCOPE)
  foreach(flags IN ITEMS
      "-fpatchable-function-entry=5"
      "-pg -mfentry"
      "-finstrument-functions-after-inlining"
      "-finstrument-functions -finstrument-functions-exclude-file-list=/usr/include,/usr/lib/gcc"
      "-finstrument-functions")
    # clang takes -mfentry but keeps frame pointers for it and loses tail calls.
    if(flags MATCHES "mfentry" AND NOT CMAKE_${language}_COMPILER_ID STREQUAL "GNU")
      continue()
    endif()
    string(MAKE_C_IDENTIFIER "FBLEPROF_${language}${flags}" variable)
    set(CMAKE_REQUIRED_QUIET ON)
    if(language STREQUAL "C")
      check_c_compiler_flag("${flags}" ${variable})
    else()
      check_cxx_compiler_flag("${flags}" ${variable})
    endif()
    if(${variable})
      separate_arguments(list UNIX_COMMAND "${flags}")
      set(${result} "${list}" PARENT_SCOPE)
      return()
    endif()
  endforeach()
  message(WARNING "fbleprof_instrument: ${CMAKE_${language}_COMPILER} has no hooks that we know of")
endfunction()

function(fbleprof_instrument)
  get_property(languages GLOBAL PROPERTY ENABLED_LANGUAGES)
  foreach(language IN ITEMS C CXX)
    if(language IN_LIST languages)
      _fbleprof_hook_flags(${language} flags)
      foreach(target IN LISTS ARGN)
        foreach(flag IN LISTS flags)
          target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:${language}>:${flag}>")
        endforeach()
      endforeach()
    endif()
  endforeach()
endfunction()

# fbleprof_count_blocks(TARGET...): makes each basic block of the targets a tick of virtual time
# (fble-prof --clock ticks): the same on every run. It adds no hooks: with those of
# fbleprof_instrument(TARGET...) no stack is walked for a block, which takes 20 ns then, not some 500.
function(fbleprof_count_blocks)
  foreach(target IN LISTS ARGN)
    target_compile_options(${target} PRIVATE
      "$<$<COMPILE_LANG_AND_ID:C,GNU>:-fsanitize-coverage=trace-pc>"
      "$<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fsanitize-coverage=trace-pc>"
      "$<$<COMPILE_LANG_AND_ID:C,Clang>:-fsanitize-coverage=trace-pc-guard>"
      "$<$<COMPILE_LANG_AND_ID:CXX,Clang>:-fsanitize-coverage=trace-pc-guard>")
    target_link_libraries(${target} PRIVATE fbleprof::blocks)
  endforeach()
endfunction()
