# Benchmarks of the scheduler: its queues (`wisp bench scale` runs them), and a hand-over with and
# without the trace. Left out without Google Benchmark.
find_package(benchmark QUIET)
if(benchmark_FOUND AND NOT WISP_SANITIZE)
  add_executable(wisp_queue_bench ${CMAKE_CURRENT_LIST_DIR}/queue_bench.cpp
    ${PROJECT_SOURCE_DIR}/runtime/scheduler/timer_heap.cpp)
  target_include_directories(wisp_queue_bench PRIVATE ${PROJECT_SOURCE_DIR}/runtime)
  target_link_libraries(wisp_queue_bench PRIVATE benchmark::benchmark)

  add_executable(wisp_handover_bench ${CMAKE_CURRENT_LIST_DIR}/handover_bench.cpp)
  target_include_directories(wisp_handover_bench PRIVATE
    ${PROJECT_SOURCE_DIR}/runtime ${PROJECT_SOURCE_DIR}/tests)
  target_link_libraries(wisp_handover_bench PRIVATE wisp_observe benchmark::benchmark)
endif()
