package wisp.it;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.regex.Pattern;

/**
 * What the person who started the tests asked for, as system properties (-Dwisp.…) or environment.
 * A value that cannot be meant stops the run; it never selects less than was wanted in silence.
 */
final class Settings {
    /** The checkout. */
    static final Path ROOT = Path.of(System.getProperty("wisp.root", "../..")).toAbsolutePath().normalize();

    /**
     * fast: every case on the newest build of each major version, on 17 and 25 with its variants and
     * collectors and on one carrier and several, on the others on one or several; the cases marked smoke on the
     * other builds. main: as fast, but only on 17 and 25. compat: everything on all builds.
     */
    private static final String SELECTION = choice("wisp.selection", "fast", "main", "compat");
    static final boolean COMPAT = SELECTION.equals("compat");
    static final boolean MAIN = SELECTION.equals("main");

    /** Runs plain against plain: to develop cases where there is no libwisp.so. */
    static final boolean WITHOUT_WISP = choice("wisp.without", "false", "true").equals("true");

    /** A case runs when its simple or full name matches. */
    static final Pattern CASES = Pattern.compile(text("wisp.cases", ".*"));

    /** Majors or full versions; empty: all that the selection asks for. */
    static final List<String> JDKS = list(text("wisp.jdks", env("WISP_TEST_JDKS", "")));

    /** Instead of what the cases ask for. */
    static final int[] CARRIERS = list(text("wisp.carriers", "")).stream().mapToInt(Integer::parseInt).toArray();

    private Settings() {
    }

    /** Of the cases: the module's classes and what the module adds (-Dwisp.classpath). */
    static String classPath() {
        String more = text("wisp.classpath", "");
        return Path.of("target", "classes").toAbsolutePath() + (more.isEmpty() ? "" : ":" + more);
    }

    static Path library() {
        String home = env("WISP_HOME", ROOT.resolve("build").toString());
        return Path.of(env("WISP_LIB", home + "/lib/libwisp.so")).toAbsolutePath();
    }

    static boolean libraryIsThere() {
        return Files.isRegularFile(library());
    }

    private static String text(String property, String otherwise) {
        String value = System.getProperty(property, "");
        return value.isEmpty() ? otherwise : value;
    }

    private static String env(String name, String otherwise) {
        String value = System.getenv(name);
        return value == null || value.isEmpty() ? otherwise : value;
    }

    private static List<String> list(String text) {
        return Arrays.stream(text.split(",")).map(String::strip).filter(word -> !word.isEmpty()).toList();
    }

    private static String choice(String property, String... accepted) {
        String value = text(property, accepted[0]);
        if (!List.of(accepted).contains(value)) {
            throw new IllegalArgumentException(
                    "-D" + property + ": '" + value + "' is not one of " + String.join(", ", accepted));
        }
        return value;
    }
}
