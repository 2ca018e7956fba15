package wisp.it.cases.steps;

/** What a worker is told to do in one step. */
final class Action {
    /** What it returns is printed. */
    interface Op {
        Object run() throws Throwable;
    }

    enum Kind {
        /** Waits for nobody: also the last idle worker may be told so. */
        QUICK(60),
        /** Ends by a time-out of {@link Steps#SHORT} at the latest, unless it then waits for a lock: given time for that. */
        TIMED(200),
        /** Sleeps for a while, and surely ends. */
        ENDS(10_000),
        /** May wait until another worker ends it. */
        WAITS(8),
        /** As WAITS, and what moves may stand still for a while: acknowledgements may be late. */
        SLOW(60);

        /** How often it is looked at, a millisecond apart, before it is taken to wait though all are asleep. */
        final int looks;

        Kind(int looks) {
            this.looks = looks;
        }
    }

    final String name;
    final Kind kind;
    final Op op;
    /** For the world: what the action is about. */
    Object subject;

    Action(String name, Kind kind, Op op) {
        this.name = name;
        this.kind = kind;
        this.op = op;
    }

    static Action quick(String name, Op op) {
        return new Action(name, Kind.QUICK, op);
    }

    static Action timed(String name, Op op) {
        return new Action(name, Kind.TIMED, op);
    }

    static Action ends(String name, Op op) {
        return new Action(name, Kind.ENDS, op);
    }

    static Action waits(String name, Op op) {
        return new Action(name, Kind.WAITS, op);
    }

    static Action slow(String name, Op op) {
        return new Action(name, Kind.SLOW, op);
    }

    boolean mayWait() {
        return kind == Kind.WAITS || kind == Kind.SLOW;
    }

    Action about(Object what) {
        subject = what;
        return this;
    }
}
