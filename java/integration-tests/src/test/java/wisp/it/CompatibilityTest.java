package wisp.it;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Runs the cases of {@code wisp.it.cases} on the JDKs of this machine: which on which is decided here. */
class CompatibilityTest {
    private static final Pattern LIMITED = Pattern.compile("(\\d+)-(\\d+): *(.*)");
    private static final List<Integer> FULL_IN_FAST = List.of(17, 25);

    @Test
    void libraryIsThere() {
        assertTrue(Settings.WITHOUT_WISP || Settings.libraryIsThere(),
                () -> Settings.library() + " is not there: build it (make), or set WISP_LIB or WISP_HOME");
    }

    /** What is to be run, or why it is not. */
    private record Entry(Trial trial, boolean isSmoke, String skipped) {
        @Override
        public String toString() {
            return trial == null ? skipped : trial.name();
        }
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("entries")
    void behavesAlike(Entry entry) throws Exception {
        assumeTrue(entry.trial() != null, entry.skipped());
        long start = System.nanoTime();
        try {
            entry.trial().run();
        } finally {
            Times times = TIMES.computeIfAbsent(entry.trial().jdk(), jdk -> new Times());
            times.nanos.addAndGet(System.nanoTime() - start);
            times.count.incrementAndGet();
        }
    }

    /** What a JDK costs. Two comparisons run side by side, so the run takes about half of the sum. */
    private static final class Times {
        private final AtomicLong nanos = new AtomicLong();
        private final AtomicInteger count = new AtomicInteger();
    }

    private static final Map<Jdk, Times> TIMES = new ConcurrentHashMap<>();

    @AfterAll
    static void sayTimes() {
        TIMES.entrySet().stream().sorted(Comparator.comparing(e -> e.getKey().major()))
                .forEach(e -> System.out.printf("%s: %d comparisons, %d s%n", e.getKey(), e.getValue().count.get(),
                        e.getValue().nanos.get() / 1_000_000_000));
    }

    static List<Entry> entries() throws IOException, InterruptedException {
        List<Entry> entries = new ArrayList<>();
        if (!Settings.WITHOUT_WISP && !Settings.libraryIsThere()) {
            return List.of(skipped("no " + Settings.library()));
        }
        List<Jdk> found = Jdk.findAll(Settings.ROOT);
        for (Jdk jdk : choose(found)) {
            Depth depth = depth(jdk, found);
            if (depth == Depth.FULL || !Settings.MAIN) {
                addEntries(entries, jdk, depth);
            }
        }
        entries.sort(Comparator.comparing(Entry::isSmoke)); // what tells most comes first
        if (Settings.JDKS.isEmpty()) {
            for (int major : Jdk.EXPECTED) {
                if (found.stream().noneMatch(jdk -> jdk.major() == major)) {
                    entries.add(skipped("JDK " + major + " is not on this machine: run scripts/fetch-jdks"));
                }
            }
        }
        assertFalse(entries.isEmpty(), "nothing selected");
        return entries;
    }

    /**
     * SMOKE: the cases marked so, on most carriers. CASES: all, every other one on the fewest carriers and the rest
     * on the most, on the next JDK the other way round. FULL: on each, with their variants and collectors.
     */
    private enum Depth {
        SMOKE, CASES, FULL
    }

    private static Depth depth(Jdk jdk, List<Jdk> found) {
        if (Settings.COMPAT || !Settings.JDKS.isEmpty()) {
            return Depth.FULL;
        }
        Jdk newest = found.stream().filter(other -> other.major() == jdk.major()).reduce((a, b) -> b).orElseThrow();
        if (newest != jdk) {
            return Depth.SMOKE;
        }
        return FULL_IN_FAST.contains(jdk.major()) ? Depth.FULL : Depth.CASES;
    }

    private static List<Jdk> choose(List<Jdk> found) {
        if (!Settings.JDKS.isEmpty()) {
            for (String wanted : Settings.JDKS) {
                assertTrue(found.stream().anyMatch(jdk -> matches(jdk, wanted)),
                        () -> "-Dwisp.jdks/WISP_TEST_JDKS: no JDK '" + wanted + "' here; there are " + found);
            }
            return found.stream().filter(jdk -> Settings.JDKS.stream().anyMatch(w -> matches(jdk, w))).toList();
        }
        return found;
    }

    private static boolean matches(Jdk jdk, String wanted) {
        return wanted.equals(String.valueOf(jdk.major())) || wanted.equals(jdk.version());
    }

    private static void addEntries(List<Entry> entries, Jdk jdk, Depth depth) throws IOException {
        for (Class<?> program : programs()) {
            WispCase about = program.getAnnotation(WispCase.class);
            if (jdk.major() < about.minJdk() || jdk.major() > about.maxJdk()
                    || depth == Depth.SMOKE && !about.smoke()) {
                continue;
            }
            if (!about.requires().isEmpty() && !jdk.has(about.requires())) {
                entries.add(skipped(program.getSimpleName() + ": " + jdk + " has no " + about.requires()));
                continue;
            }
            List<String> common = Arrays.stream(about.flags()).flatMap(f -> words(f, jdk).stream()).toList();
            addTrials(entries, program, jdk, common, "", depth);
            if (depth != Depth.FULL) {
                continue;
            }
            for (String variant : about.variants()) {
                List<String> flags = words(variant, jdk);
                if (!flags.isEmpty()) {
                    addTrials(entries, program, jdk, Child.join(common, flags), String.join(" ", flags), depth);
                }
            }
            for (String gc : about.gcs()) {
                List<String> flags = jdk.collector(gc);
                if (flags != null) {
                    addTrials(entries, program, jdk, Child.join(common, flags), gc + " GC", depth);
                }
            }
        }
    }

    private static void addTrials(List<Entry> entries, Class<?> program, Jdk jdk, List<String> flags,
            String variant, Depth depth) {
        WispCase about = program.getAnnotation(WispCase.class);
        int[] carriers = Settings.CARRIERS.length > 0 ? Settings.CARRIERS : about.carriers();
        int most = Arrays.stream(carriers).max().orElseThrow();
        int fewest = Arrays.stream(carriers).min().orElseThrow();
        boolean onMost = (program.getName().hashCode() + Jdk.EXPECTED.indexOf(jdk.major())) % 2 == 0;
        for (int count : carriers) {
            // The fast selection takes one and four: the extremes find what two would.
            if (!Settings.COMPAT && Settings.CARRIERS.length == 0 && count == 2 && carriers.length > 2
                    || depth == Depth.SMOKE && count != most
                    || depth == Depth.CASES && count != (onMost ? most : fewest)) {
                continue;
            }
            Trial trial = new Trial(program, about, jdk, flags, variant, count);
            entries.add(new Entry(trial, depth == Depth.SMOKE, null));
        }
    }

    private static Entry skipped(String why) {
        System.err.println("SKIPPED: " + why);
        return new Entry(null, false, why);
    }

    /** Splits flags at blanks; none when they are limited to other JDKs. */
    private static List<String> words(String flags, Jdk jdk) {
        Matcher limited = LIMITED.matcher(flags);
        String text = flags;
        if (limited.matches()) {
            boolean applies = jdk.major() >= Integer.parseInt(limited.group(1))
                    && jdk.major() <= Integer.parseInt(limited.group(2));
            text = applies ? limited.group(3) : "";
        }
        return Arrays.stream(text.split(" +")).filter(word -> !word.isEmpty()).toList();
    }

    /** Every annotated class under wisp.it.cases that -Dwisp.cases selects. */
    private static List<Class<?>> programs() throws IOException {
        Path classes = Path.of("target", "classes");
        List<Class<?>> programs = new ArrayList<>();
        try (Stream<Path> files = Files.walk(classes.resolve("wisp/it/cases"))) {
            for (Path file : files.filter(f -> f.toString().matches(".*/\\w+\\.class")).toList()) {
                String name = classes.relativize(file).toString().replace('/', '.').replaceFirst("\\.class$", "");
                Class<?> program = load(name);
                boolean wanted = Settings.CASES.matcher(name).matches()
                        || Settings.CASES.matcher(program.getSimpleName()).matches();
                if (wanted && program.isAnnotationPresent(WispCase.class)) {
                    programs.add(program);
                }
            }
        }
        programs.sort(Comparator.comparing(Class::getName));
        assertFalse(programs.isEmpty(), () -> "-Dwisp.cases='" + Settings.CASES + "' matches no case");
        return programs;
    }

    private static Class<?> load(String name) {
        try {
            return Class.forName(name, false, CompatibilityTest.class.getClassLoader());
        } catch (ClassNotFoundException e) {
            throw new IllegalStateException(e);
        }
    }
}
