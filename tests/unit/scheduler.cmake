wisp_unit_test(wisp_scheduler_test
  SOURCES unit/scheduler_test.cpp unit/parking_lot_test.cpp unit/trim_test.cpp unit/task_pool_test.cpp
          unit/kept_back_test.cpp unit/home_test.cpp
  LIBS wisp_scheduler)
wisp_carriers_test(wisp_scheduler_test)

# A program of its own: whether the process may raise weights is decided before its first thread.
wisp_unit_test(wisp_lent_test SOURCES unit/lent_test.cpp LIBS wisp_sync wisp_scheduler)
wisp_carriers_test(wisp_lent_test)
add_test(NAME wisp_lent_test.unprivileged COMMAND wisp_lent_test --gtest_brief=1)
set_tests_properties(wisp_lent_test.unprivileged PROPERTIES ENVIRONMENT WISP_TEST_UNPRIVILEGED=1 TIMEOUT 240)

# A program of its own: it has carriers without a scheduler.
wisp_unit_test(wisp_pick_test SOURCES unit/pick_test.cpp unit/left_to_it_test.cpp LIBS wisp_scheduler)
