"""Cures to take out: start, options, agents, Flight Recorder."""
from cures.mutation import Mutation

MUTATIONS = [
    # A park that its task is to write itself.
    Mutation("scope-left-empty", "runtime/scheduler/event_log.cpp",
             "if (scope != nullptr && scope->count < LogScope::kRoom)", "if (false)",
             ("unit", "wisp_event_log_test", "EventLog.AScope*")),
    # Events that a thread writes itself: an exception of the wait is still there afterwards.
    Mutation("interrupt-not-thrown-again", "runtime/jvm/own_events.cpp", "    env->Throw(thrown);\n", "",
             ("unit", "wisp_flight_test", "*OwnWaits*java_17*")),
    # What a thread writes later says when it happened.
    Mutation("late-events-without-time", "java/agent/src/main/java11/wisp/flight/Flight.java",
             "if (kind != START && kind != END) {", "if (kind == PARK) {",
             ("unit", "wisp_flight_test", "*FromTheStart*java_17*")),
    # A program's own recording has what it turns on.
    Mutation("ours-in-every-recording", "java/agent/src/main/java11/wisp/flight/Settings.java", "on && ofConfiguration(settings)", "on",
             ("unit", "wisp_flight_test", "Jdks/Flight.ThreadsWriteTheirOwnWaits/java_17*"), 3),
    # A recording has no errors of ours in it.
    Mutation("natives-tried-out", "runtime/jvm/native_swap.cpp",
             "for (jint i = 0; i < count && !found; ++i) found = is_native(all[i], m);", "found = true;",
             ("unit", "wisp_flight_test", "*FromTheStart*java_17*")),
    # Our events do not ask for the recorder in their initialisation.
    Mutation("events-register-themselves", "java/agent/src/main/java11/wisp/flight/Steal.java", "@Registered(false)\n", "",
             ("unit", "wisp_flight_test", "*DoNotRegister*java_17*")),
    # Options: the fuzzer.
    Mutation("messages-unmasked", "runtime/jvm/report.cpp", "text[i] = c < 0x20 || c == 0x7f ? '?' : raw[i];",
             "text[i] = static_cast<char>(c);", ("unit", "options_fuzz_test", "*")),
    Mutation("weaker-variable-wins", "runtime/jvm/java_args.cpp",
             '  visit_variable(sources, "JAVA_TOOL_OPTIONS", visitor, nullptr);\n'
             "  if (sources.java_launcher) {\n"
             '    if (sources.argfiles) visit_variable(sources, "JDK_JAVA_OPTIONS", visitor, &scanner);\n',
             "  if (sources.java_launcher) {\n"
             '    if (sources.argfiles) visit_variable(sources, "JDK_JAVA_OPTIONS", visitor, &scanner);\n'
             '    visit_variable(sources, "JAVA_TOOL_OPTIONS", visitor, nullptr);\n',
             ("unit", "options_fuzz_test", "*")),
    # Another agent's Agent_OnLoad is its own.
    Mutation("agents-have-ours", "runtime/jvm/agent_symbol.cpp", "  *value = 0;\n", "", ("preload", "preload_agents", 1)),
    # A set-user-id program.
    Mutation("privilege-not-asked", "runtime/jvm/start.cpp", "  if (getauxval(AT_SECURE) != 0) return;\n", "",
             ("case", "sec-setuid", "17", 1)),
]
