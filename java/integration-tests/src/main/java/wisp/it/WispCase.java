package wisp.it;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Marks a main class of {@code wisp.it.cases} as a case: the harness runs it in a child JVM, once on plain
 * threads and then under Wisp on 1 carrier and on several, and expects the same standard output and exit
 * code. What a case prints must not depend on timing.
 *
 * <p>Entries of {@link #flags} and {@link #variants} may be limited to JDKs by a prefix: {@code "8-17: -Xfoo"}.
 */
@Retention(RetentionPolicy.RUNTIME)
@Target(ElementType.TYPE)
public @interface WispCase {
    String INTERPRETER = "-Xint";
    String C1 = "-XX:TieredStopAtLevel=1";
    String COMPILE_ALL = "-Xcomp";
    String NO_BIAS = "8-17: -XX:-UseBiasedLocking";
    String BIAS = "8-17: -XX:+UseBiasedLocking -XX:BiasedLockingStartupDelay=0";

    /** JVM flags of both runs. */
    String[] flags() default {};

    /** JVM flags under Wisp only, such as conversion rules. */
    String[] wispFlags() default {};

    /** Each makes one more comparison, with these flags (separated by blanks) besides the ordinary one. */
    String[] variants() default {};

    /** Collectors to repeat the case with, where the JDK has them: Serial, Parallel, G1, Z, Shenandoah. */
    String[] gcs() default {};

    int minJdk() default 8;

    int maxJdk() default Integer.MAX_VALUE;

    /**
     * What the JDK must have: a file, relative to its home ({@code bin/jstack}), or a module ({@code module:NAME}).
     * One folder of the file's path may be {@code *}, any name.
     */
    String requires() default "";

    int[] carriers() default {1, 2, 4};

    /** Killed after this time, after its stacks were collected. */
    int timeoutSeconds() default 60;

    /** In the fast selection this case also runs on the builds that are not the newest of their version. */
    boolean smoke() default false;

    int exitCode() default 0;

    /** Only the parts of output lines that this regular expression matches (its group 1, if any) count. */
    String keep() default "";

    /** Standard error counts as well. */
    boolean stderr() default false;

    /** Text that must be on standard error under Wisp. */
    String wispStderr() default "";

    /** False for a process that dies before it can print its statistics. */
    boolean stats() default true;
}
