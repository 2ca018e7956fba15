package wisp.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.opentest4j.TestAbortedException;

/** The harness itself: what it cannot see would pass unseen. */
class HarnessTest {
    private static Child child(int seconds, String... command) {
        return new Child("harness self test", List.of(command), Map.of("PROBE", "a b"), Path.of("/nowhere"), seconds);
    }

    @Test
    void outputErrorAndExitCodeOfAChildAreKept() throws Exception {
        Child.Result result = child(20, "sh", "-c", "echo \"out $PROBE\"; echo err >&2; exit 3").run();
        assertEquals("out a b\n", result.out());
        assertEquals("err\n", result.err());
        assertEquals(3, result.exitCode());
    }

    @Test
    void aHangingChildIsReportedAndKilled() throws Exception {
        Child.Result result = child(1, "sleep", "600").run();
        assertNotNull(result.hangReport());
        assertEquals(137, result.exitCode());
        String report = Files.readString(result.hangReport());
        assertTrue(report.contains("state=S") && report.contains("PROBE='a b' sleep 600"), report);
    }

    @Test
    void onlySecondsWithoutAProcessorDoNotCount() {
        Patience asleep = new Patience(10);
        assertFalse(asleep.isOver(9, false, 0));
        assertTrue(asleep.isOver(1, false, 0));
        Patience spinning = new Patience(10);
        assertFalse(spinning.isOver(9, true, 5));
        assertTrue(spinning.isOver(1, true, 6));
        Patience starved = new Patience(10);
        assertFalse(starved.isOver(70, true, 20));
        assertFalse(starved.isOver(9, true, 22));
        assertTrue(starved.isOver(1, true, 22));
    }

    @Test
    void whatACaseRequiresIsLookedForInFoldersOfAnyName(@TempDir Path home) throws Exception {
        Jdk jdk = new Jdk(17, "17", home);
        Files.createDirectories(home.resolve("postgresql/16/bin"));
        assertFalse(jdk.has("postgresql/*/bin/initdb"));
        assertFalse(jdk.has("nowhere/*/bin/initdb"));
        Files.createDirectories(home.resolve("postgresql/17/bin"));
        Files.createFile(home.resolve("postgresql/17/bin/initdb"));
        assertTrue(jdk.has("postgresql/*/bin/initdb"));
        assertTrue(jdk.has("postgresql/17/bin/initdb"));
        assertFalse(jdk.has("postgresql/16/bin/initdb"));
        assertTrue(jdk.has(home + "/postgresql/*/bin/initdb"));
    }

    @Test
    void aGrandchildThatKeepsTheOutputOpenIsNoHang() throws Exception {
        Child.Result result = child(20, "sh", "-c", "sleep 15 & echo started").run();
        assertEquals(0, result.exitCode());
    }

    @Test
    void differencesAreShownWithTheirSurroundings() {
        assertEquals("", Comparison.difference(List.of("a"), List.of("a")));
        assertEquals("  a\n- b\n+ x\n+ y\n  c\n", Comparison.difference(List.of("a", "b", "c"), List.of("a", "x", "y", "c")));
        assertEquals("  a\n+ b\n", Comparison.difference(List.of("a"), List.of("a", "b")));
    }

    @Test
    void addressesAndChatterDoNotCount() {
        assertEquals(List.of("lock Foo@#", "end"),
                Comparison.normalised("wisp: tasks=1\n[0.021s][warning][os] busy\nlock Foo@1b2c3d  \nPicked up X: y\nend\n", ""));
        assertEquals(List.of("b", "done"), Comparison.normalised("\"b\" #3\nother\ndone\n", "^\"(\\w)\"|^done"));
    }

    @Test
    void aCaseThatSkipsItselfOnPlainThreadsIsSkippedAndSaysWhy() throws Exception {
        Jdk own = new Jdk(17, "own", Path.of(System.getProperty("java.home")));
        String more = "-Xbootclasspath/a:" + Path.of("target", "test-classes").toAbsolutePath() + ":" + Settings.classPath();
        Trial trial = new Trial(Skips.class, Skips.class.getAnnotation(WispCase.class), own, List.of(more), "", 1);
        TestAbortedException skipped = assertThrows(TestAbortedException.class, trial::run);
        assertTrue(skipped.getMessage().contains("no such thing"), skipped.getMessage());
    }

    @WispCase
    static final class Skips {
        public static void main(String[] args) {
            System.out.println("so far");
            Kit.skip("no such thing");
        }
    }
}
