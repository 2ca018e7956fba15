wisp_unit_test(wisp_scheduler_test
  SOURCES unit/scheduler_test.cpp unit/parking_lot_test.cpp unit/trim_test.cpp unit/task_pool_test.cpp
  LIBS wisp_scheduler)
wisp_carriers_test(wisp_scheduler_test)
