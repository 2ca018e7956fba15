package wisp.management;

import com.alibaba.management.WispCounterData;
import com.alibaba.management.WispCounterMXBean;
import com.alibaba.management.WispTaskData;
import java.util.ArrayList;
import java.util.List;
import javax.management.MBeanServer;
import javax.management.ObjectName;

/**
 * The MXBean over the runtime's counters. Its classes are part of libwisp.so, which defines them in the
 * boot class loader and calls {@link #register} when the platform MBean server comes into being
 * (runtime/jvm/management.cpp): a program that never uses JMX never sees them.
 */
public final class WispCounter implements WispCounterMXBean {
    static final String NAME = "com.alibaba.management:type=WispCounter";

    /** Columns of a row of {@link #carriers}; the order is that of runtime/jvm/management.cpp. */
    private static final int COLUMNS = 20;
    private static final int TASK_COLUMNS = 27;

    /** A console asks for one attribute after the other: they shall belong together. */
    private static final long FRESH_NANOS = 50_000_000;

    private final ObjectName name;
    private long[] rows;
    private long readAt;

    private WispCounter(ObjectName name) {
        this.name = name;
    }

    static void register(MBeanServer server) throws Exception {
        ObjectName name = new ObjectName(NAME);
        if (!server.isRegistered(name)) {
            server.registerMBean(new WispCounter(name), name);
        }
    }

    /** COLUMNS numbers per carrier. */
    private static native long[] carriers();

    /** TASK_COLUMNS numbers per living task. */
    private static native long[] tasks();

    private synchronized long[] rows() {
        long now = System.nanoTime();
        if (rows == null || now - readAt > FRESH_NANOS) {
            rows = carriers();
            readAt = now;
        }
        return rows;
    }

    private List<Long> column(int column) {
        long[] values = rows();
        List<Long> list = new ArrayList<Long>(values.length / COLUMNS);
        for (int i = column; i < values.length; i += COLUMNS) {
            list.add(values[i]);
        }
        return list;
    }

    @Override
    public ObjectName getObjectName() {
        return name;
    }

    @Override
    public List<Boolean> getRunningStates() {
        List<Boolean> list = new ArrayList<Boolean>();
        for (Long value : column(0)) {
            list.add(value != 0);
        }
        return list;
    }

    @Override
    public List<Long> getSwitchCount() {
        return column(1);
    }

    @Override
    public List<Long> getWaitTimeTotal() {
        return column(2);
    }

    @Override
    public List<Long> getRunningTimeTotal() {
        return column(3);
    }

    @Override
    public List<Long> getCompleteTaskCount() {
        return column(4);
    }

    @Override
    public List<Long> getCreateTaskCount() {
        return column(5);
    }

    @Override
    public List<Long> getParkCount() {
        return column(6);
    }

    @Override
    public List<Long> getUnparkCount() {
        return column(7);
    }

    @Override
    public List<Long> getStealCount() {
        return column(8);
    }

    @Override
    public List<Long> getStealFailureCount() {
        return column(9);
    }

    @Override
    public List<Long> getPreemptCount() {
        return column(10);
    }

    @Override
    public List<Long> getTimeOutCount() {
        return column(11);
    }

    @Override
    public List<Long> getEventLoopCount() {
        return column(12);
    }

    @Override
    public List<Long> getQueueLength() {
        return column(13);
    }

    @Override
    public List<Long> getNumberOfRunningTasks() {
        return column(14);
    }

    @Override
    public List<Long> getTotalBlockingTime() {
        return column(15);
    }

    @Override
    public List<Long> getTotalExecutionTime() {
        return column(3);
    }

    @Override
    public List<Long> getExecutionCount() {
        return column(1);
    }

    @Override
    public List<Long> getTotalEnqueueTime() {
        return column(16);
    }

    @Override
    public List<Long> getEnqueueCount() {
        return column(17);
    }

    @Override
    public List<Long> getTotalWaitSocketIOTime() {
        return column(18);
    }

    @Override
    public List<Long> getWaitSocketIOCount() {
        return column(19);
    }

    @Override
    public WispCounterData getWispCounterData(long id) {
        long[] values = rows();
        if (id < 0 || id >= values.length / COLUMNS) {
            return null;
        }
        return new WispCounterData(values, (int) id * COLUMNS);
    }

    @Override
    public WispTaskData[] listTasks() {
        long[] values = tasks();
        WispTaskData[] tasks = new WispTaskData[values.length / TASK_COLUMNS];
        for (int i = 0; i < tasks.length; i++) {
            tasks[i] = new WispTaskData(values, i * TASK_COLUMNS);
        }
        return tasks;
    }
}
