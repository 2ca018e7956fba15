# Benchmark of the scheduler's queues; `wisp bench scale` runs it. Left out without Google Benchmark.
find_package(benchmark QUIET)
if(benchmark_FOUND AND NOT WISP_SANITIZE)
  add_executable(wisp_queue_bench ${CMAKE_CURRENT_LIST_DIR}/queue_bench.cpp
    ${PROJECT_SOURCE_DIR}/runtime/scheduler/timer_heap.cpp)
  target_include_directories(wisp_queue_bench PRIVATE ${PROJECT_SOURCE_DIR}/runtime)
  target_link_libraries(wisp_queue_bench PRIVATE benchmark::benchmark)
endif()
