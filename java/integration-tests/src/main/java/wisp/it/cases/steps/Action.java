package wisp.it.cases.steps;

/** What a worker is told to do in one step. */
final class Action {
    /** What it returns is printed. */
    interface Op {
        Object run() throws Throwable;
    }

    enum Kind {
        /** Waits for nobody: also the last idle worker may be told so. */
        QUICK,
        /** Ends by a time-out of {@link Steps#SHORT} at the latest, unless it then waits for a lock: given time for that. */
        TIMED,
        /** Sleeps for a while, and surely ends. */
        ENDS,
        /** May wait until another worker ends it. */
        WAITS,
        /** As WAITS, and what moves may stand still for a while: acknowledgements may be late. */
        SLOW
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

    /** The looks that it is given, a millisecond apart, before all that is asleep is taken to wait. */
    int looks() {
        return kind == Kind.ENDS ? 10_000 : kind == Kind.TIMED ? 200 : kind == Kind.SLOW ? 60 : 0;
    }

    Action about(Object what) {
        subject = what;
        return this;
    }
}
