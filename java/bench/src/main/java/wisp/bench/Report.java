package wisp.bench;

import java.util.Arrays;
import java.util.Locale;

/** Prints results as {@code key=value} lines, ends the process with 1 when a result is wrong. */
final class Report {
    private Report() {
    }

    static void value(String key, long value) {
        System.out.println(key + "=" + value);
    }

    static void value(String key, double value) {
        System.out.println(key + "=" + String.format(Locale.ROOT, "%.3f", value));
    }

    /** Median, median absolute deviation and outer percentiles: these survive the odd scheduling hiccup. */
    static void samples(String key, double[] samples) {
        double median = percentile(samples, 50);
        double[] deviations = new double[samples.length];
        for (int i = 0; i < samples.length; i++) {
            deviations[i] = Math.abs(samples[i] - median);
        }
        value(key, median);
        value(key + "_mad", percentile(deviations, 50));
        value(key + "_p10", percentile(samples, 10));
        value(key + "_p90", percentile(samples, 90));
        value(key + "_p99", percentile(samples, 99));
    }

    static double percentile(double[] samples, double percent) {
        double[] sorted = samples.clone();
        Arrays.sort(sorted);
        return sorted[(int) Math.round((sorted.length - 1) * percent / 100)];
    }

    /** A benchmark that computed something else measured something else. */
    static void check(String what, long expected, long actual) {
        if (expected != actual) {
            System.err.println("WRONG RESULT: " + what + " is " + actual + ", expected " + expected);
            System.exit(1);
        }
    }

    static void valid() {
        System.out.println("check=ok");
    }
}
