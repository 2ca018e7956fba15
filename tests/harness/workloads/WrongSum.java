package wisp.bench;

/** A benchmark that is fast and wrong: it prints its figure, then its own check fails. */
public final class WrongSum {
    public static void main(String[] args) {
        Report.value("ms", 27_182_818.0);
        long sum = 0;
        for (int i = 0; i < 99; i++) {
            sum += i;
        }
        Report.check("sum", 4950, sum);
        Report.valid();
    }
}
