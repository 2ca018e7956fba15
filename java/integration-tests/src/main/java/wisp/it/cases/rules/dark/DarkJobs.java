package wisp.it.cases.rules.dark;

/** Runnables that belong to this package, which a rule of BlackClasses names. */
public final class DarkJobs {
    private DarkJobs() {
    }

    public static Runnable lambda(Runnable body) {
        return () -> body.run();
    }

    public static Runnable object(Runnable body) {
        return new Runnable() {
            @Override
            public void run() {
                body.run();
            }
        };
    }
}
