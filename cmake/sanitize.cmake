# fbleprof_sanitize(TARGET): builds a target of the reporting half, or a test, with the sanitizers of
# FBLEPROF_SANITIZE. The recorder is never built with them: it lives inside other people's programs.
function(fbleprof_sanitize target)
  if(FBLEPROF_SANITIZE)
    target_compile_options(${target} PRIVATE -fsanitize=${FBLEPROF_SANITIZE}
                           -fno-sanitize-recover=all -fno-omit-frame-pointer)
    target_link_options(${target} PUBLIC -fsanitize=${FBLEPROF_SANITIZE})
  endif()
  # Fuzzers need to see which branches of the code under test were taken.
  if(FBLEPROF_BUILD_FUZZERS)
    target_compile_options(${target} PRIVATE -fsanitize=fuzzer-no-link)
    target_link_options(${target} PUBLIC -fsanitize=fuzzer-no-link)
  endif()
endfunction()
