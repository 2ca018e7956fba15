package wisp.it.cases.steps;

import java.util.concurrent.locks.LockSupport;

/** A thread that does what it is told, one action at a time. All but {@link #obey} and {@link #done} is the driver's. */
final class Worker extends Thread {
    private volatile Action given;
    private String result;
    private boolean leaving;
    /** It has woken up and seen what it is told. */
    volatile boolean begun;
    /** How many monitors it is in. */
    volatile int depth;
    /** Printed as waiting already. */
    boolean shown;

    Worker(String name) {
        super(name);
        // One that is left in a deadlock must not keep the process.
        setDaemon(true);
        start();
    }

    @Override
    public void run() {
        obey();
    }

    boolean isIdle() {
        return given == null;
    }

    Action given() {
        return given;
    }

    void tell(Action action) {
        result = null;
        shown = false;
        begun = false;
        given = action;
        LockSupport.unpark(this);
    }

    /** It returns from the innermost {@link #obey}. */
    void tellToLeave() {
        leaving = true;
        tell(Action.quick("leave", () -> "gone"));
    }

    /** What came of the last action, once; null if it goes on or that was asked for before. */
    String takeResult() {
        String text = given == null ? result : null;
        if (text != null) {
            result = null;
        }
        return text;
    }

    /** Does as it is told until it is told to leave; within a monitor that it has entered, this is called again. */
    void obey() {
        for (;;) {
            Action action;
            while ((action = given) == null) {
                LockSupport.park();
            }
            begun = true;
            if (leaving) {
                leaving = false;
                return;
            }
            // The permit of being told may still be there, and end a park of the action's.
            LockSupport.parkNanos(1);
            String text;
            try {
                text = String.valueOf(action.op.run());
            } catch (Throwable e) {
                text = Steps.described(e);
            }
            done(text);
        }
    }

    /** The action has come to an end. Its interrupt status is told and forgotten: the wait for the next would spin. */
    void done(String text) {
        result = Thread.interrupted() ? text + ", interrupted" : text;
        given = null;
    }
}
