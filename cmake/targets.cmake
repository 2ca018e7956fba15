# How targets are compiled, here and in the project of tests/aarch64.

# wisp_sanitized(target): compiled and linked with the sanitizers asked for, if any.
function(wisp_sanitized target)
  if(WISP_SANITIZE)
    target_compile_options(${target} PRIVATE
      $<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${WISP_SANITIZE} -fno-omit-frame-pointer>)
    target_link_options(${target} PUBLIC -fsanitize=${WISP_SANITIZE})
  endif()
endfunction()

# What every layer is compiled with: it lives in a user's process, so no libstdc++, no exceptions,
# no guards of static locals, nothing visible but the interposed symbols.
function(wisp_runtime_library target)
  target_include_directories(${target} PUBLIC ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/../runtime)
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  target_compile_options(${target} PRIVATE
    $<$<COMPILE_LANGUAGE:CXX>:-fno-exceptions -fno-rtti -fno-threadsafe-statics
      -fvisibility=hidden -Wall -Wextra -Wshadow>)
  # A sanitizer's runtime owns the TLS of its threads: no thread pointer is switched there.
  if(WISP_SANITIZE)
    target_compile_definitions(${target} PUBLIC WISP_SWITCH_FS=0)
  endif()
  wisp_sanitized(${target})
endfunction()
