# Tests of `wisp bench`: its statistics, and the command as a whole on tiny workloads.
find_package(Python3 REQUIRED COMPONENTS Interpreter)
add_test(NAME harness.stats COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/stats_test.py)
add_test(NAME harness.forkjoin COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/forkjoin_test.py)
add_test(NAME harness.servers COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/servers_test.py)
add_test(NAME harness.broken COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/broken_test.py)
add_test(NAME harness.deps COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/deps_test.py)
add_test(NAME harness.bench
  COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/bench_test.py $<TARGET_FILE:wisp>)
# Does each mutation of tests/compat/mutations still find the line that it changes?
add_test(NAME harness.mutations COMMAND ${CMAKE_SOURCE_DIR}/tests/compat/mutations --check)
set_tests_properties(harness.mutations PROPERTIES LABELS harness TIMEOUT 60)
set_tests_properties(harness.stats harness.forkjoin harness.servers harness.broken harness.deps harness.bench
  PROPERTIES LABELS harness TIMEOUT 240 SKIP_RETURN_CODE 77)
