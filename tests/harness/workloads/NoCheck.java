package wisp.bench;

/** A benchmark that ends well but never says that its result was checked. */
public final class NoCheck {
    public static void main(String[] args) {
        Report.value("ms", 31_415_926.0);
    }
}
