package com.alibaba.management;

import java.lang.management.PlatformManagedObject;
import java.util.List;

/**
 * The counters of the carriers, by the names under which Dragonwell's Wisp2 publishes them: each list has
 * one element per carrier. All counts and times are since the start of the JVM; times are nanoseconds.
 */
public interface WispCounterMXBean extends PlatformManagedObject {
    /** Whether a task runs on the carrier now. */
    List<Boolean> getRunningStates();

    /** How often the carrier went from one task to another. */
    List<Long> getSwitchCount();

    /** Time in which the carrier had nothing to run. */
    List<Long> getWaitTimeTotal();

    /** Time in which it ran tasks. */
    List<Long> getRunningTimeTotal();

    /** Tasks that ended on it; those that ended without a carrier count for the first one. */
    List<Long> getCompleteTaskCount();

    /** Tasks that first ran on it. */
    List<Long> getCreateTaskCount();

    List<Long> getParkCount();

    /** Tasks that were woken by tasks of this carrier. */
    List<Long> getUnparkCount();

    /** Successful steals by this carrier. */
    List<Long> getStealCount();

    /** Searches of this carrier that found nothing. */
    List<Long> getStealFailureCount();

    /** How often a task that ran too long lost this carrier. */
    List<Long> getPreemptCount();

    /** Timed waits that ran out. */
    List<Long> getTimeOutCount();

    /** Looks at the event pump between two tasks. */
    List<Long> getEventLoopCount();

    List<Long> getQueueLength();

    /** Living tasks whose last carrier it is. */
    List<Long> getNumberOfRunningTasks();

    /** Time its tasks were parked before they ran here. */
    List<Long> getTotalBlockingTime();

    List<Long> getTotalExecutionTime();

    List<Long> getExecutionCount();

    /** Time woken tasks waited in its queue; from a sample of one wake in sixteen. */
    List<Long> getTotalEnqueueTime();

    List<Long> getEnqueueCount();

    List<Long> getTotalWaitSocketIOTime();

    List<Long> getWaitSocketIOCount();

    /** All counters of one carrier, or null if there is no such carrier. */
    WispCounterData getWispCounterData(long id);

    /** What each living task does at the moment, oldest first. */
    WispTaskData[] listTasks();
}
