package wisp.it;

import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.regex.Pattern;

/** A JDK that scripts/list-jdks found and ran. */
record Jdk(int major, String version, Path home) {
    /** Long-term versions that a full run is expected to cover. */
    static final List<Integer> EXPECTED = List.of(8, 9, 11, 17, 21, 25);

    private static final Map<String, Boolean> SUPPORTED_FLAGS = new ConcurrentHashMap<>();

    static List<Jdk> findAll(Path root) throws IOException, InterruptedException {
        Process process = new ProcessBuilder("python3", root.resolve("scripts/list-jdks").toString())
                .redirectError(ProcessBuilder.Redirect.INHERIT).start();
        String output = new String(process.getInputStream().readAllBytes());
        process.waitFor();
        List<Jdk> found = new ArrayList<>();
        for (String line : output.lines().toList()) {
            String[] fields = line.split("\t");
            found.add(new Jdk(Integer.parseInt(fields[0]), fields[1], Path.of(fields[2])));
        }
        return found;
    }

    Path java() {
        return home.resolve("bin/java");
    }

    /** A file below its home, in which "*" is any folder, or "module:NAME": images made by jlink lack some. */
    boolean has(String what) {
        if (!what.startsWith("module:")) {
            int any = what.indexOf("/*/");
            return any < 0 ? Files.exists(home.resolve(what))
                    : below(home.resolve(what.substring(0, any)), what.substring(any + 3));
        }
        try {
            String release = Files.readString(home.resolve("release"));
            return !release.contains("MODULES=")
                    || release.matches("(?s).*MODULES=\"[^\"]*\\b" + Pattern.quote(what.substring(7)) + "[ \"].*");
        } catch (IOException e) {
            return true;
        }
    }

    /** Whether one of the folder's folders has this file. */
    private static boolean below(Path folder, String file) {
        try (DirectoryStream<Path> all = Files.newDirectoryStream(folder)) {
            for (Path one : all) {
                if (Files.exists(one.resolve(file))) {
                    return true;
                }
            }
        } catch (IOException none) {
            // no such folder
        }
        return false;
    }

    /** The flags that switch this collector on, or null when this JDK lacks it. */
    List<String> collector(String name) {
        List<String> flags = List.of("-XX:+UnlockExperimentalVMOptions", "-XX:+Use" + name + "GC");
        return SUPPORTED_FLAGS.computeIfAbsent(home + " " + name, key -> starts(flags)) ? flags : null;
    }

    private boolean starts(List<String> flags) {
        try {
            List<String> command = new ArrayList<>(List.of(java().toString(), "-Xmx64m"));
            command.addAll(flags);
            command.add("-version");
            return new ProcessBuilder(command).redirectErrorStream(true)
                    .redirectOutput(ProcessBuilder.Redirect.DISCARD).start().waitFor() == 0;
        } catch (IOException e) {
            return false;
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    @Override
    public String toString() {
        return "JDK " + version;
    }
}
