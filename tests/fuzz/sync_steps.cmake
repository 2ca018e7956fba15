# sync_steps, the stepwise fuzzer of threads, locks and signals; by hand, and by tests/fuzz/run.
add_executable(sync_steps ${CMAKE_CURRENT_LIST_DIR}/sync_steps.cpp)
foreach(part steps kernel_threads text workers mutexes conditions barriers c11 rwlocks semaphores futexes sleeps handlers signals signal_waits threads identities processes)
  target_sources(sync_steps PRIVATE ${CMAKE_CURRENT_LIST_DIR}/sync/${part}.cpp)
endforeach()
target_include_directories(sync_steps PRIVATE ${CMAKE_CURRENT_LIST_DIR})
target_link_libraries(sync_steps PRIVATE fake_jvm Threads::Threads)
wisp_light_options(sync_steps)
