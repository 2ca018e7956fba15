# The sync layer without preload, on tasks and kernel threads; the carriers' number is an argument of
# the environment, so the same cases run with 1, 2 (the default) and 4.
wisp_unit_test(wisp_sync_test
  SOURCES
    unit/own_thread_test.cpp
    unit/sync_barrier_test.cpp
    unit/sync_condition_test.cpp
    unit/sync_futex_test.cpp
    unit/sync_interrupt_test.cpp
    unit/sync_mutex_test.cpp
    unit/sync_rwlock_test.cpp
    unit/sync_semaphore_test.cpp
    unit/sync_sleep_test.cpp
    unit/sync_turns_test.cpp
  LIBS wisp_sync wisp_scheduler)
wisp_carriers_test(wisp_sync_test)

# The C functions themselves: the program defines them, so all of it runs on our locks, GoogleTest
# and std::thread included. (A sanitizer's runtime has its own interceptors of the same names.)
if(NOT WISP_SANITIZE)
  set(interpose ${CMAKE_SOURCE_DIR}/runtime/interpose)
  wisp_unit_test(wisp_sync_interpose_test
    SOURCES
      unit/sync_interpose_test.cpp
      ${interpose}/condition.cpp
      ${interpose}/locks.cpp
      ${interpose}/rwlock.cpp
      ${interpose}/scheduling.cpp
      ${interpose}/semaphore.cpp
      ${interpose}/syscall.cpp
      ${interpose}/thread_control.cpp
      ${interpose}/time.cpp
    LIBS wisp_signal wisp_io wisp_sync wisp_scheduler)
endif()
