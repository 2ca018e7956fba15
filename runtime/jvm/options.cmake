# The sources that the command, the library and the unit tests all compile: reading of options and
# rules. Included by each of them, so that the list is written once.
set(WISP_OPTION_SOURCES "")
foreach(name arg_tokens java_args options preload_list processors report rules)
  list(APPEND WISP_OPTION_SOURCES ${CMAKE_CURRENT_LIST_DIR}/${name}.cpp)
endforeach()
# Only for the library: its own process, and the agent.
set(WISP_AGENT_SOURCES "")
foreach(name agent_reexec load_order loaded_library options_process)
  list(APPEND WISP_AGENT_SOURCES ${CMAKE_CURRENT_LIST_DIR}/${name}.cpp)
endforeach()
