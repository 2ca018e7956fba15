package wisp.it.cases.libraries;

import java.lang.management.ManagementFactory;
import java.util.Collections;
import javax.management.ObjectName;
import org.openjdk.jmc.common.IMCFrame;
import org.openjdk.jmc.common.IMCStackTrace;

/** What cases with recordings of Flight Recorder share. */
final class Recordings {
    /** A command of jcmd's, by its name in JMX: jfrStart. */
    static void tool(String command, String... arguments) throws Exception {
        ManagementFactory.getPlatformMBeanServer().invoke(new ObjectName("com.sun.management:type=DiagnosticCommand"),
                command, new Object[] {arguments}, new String[] {String[].class.getName()});
    }

    /** Whether that method of that class is on the stack; null is none. */
    static boolean runs(IMCStackTrace stack, Class<?> type, String method) {
        for (IMCFrame frame : stack == null ? Collections.<IMCFrame>emptyList() : stack.getFrames()) {
            if (frame.getMethod().getType().getTypeName().equals(type.getSimpleName())
                    && frame.getMethod().getMethodName().equals(method)) {
                return true;
            }
        }
        return false;
    }

    private Recordings() {
    }
}
