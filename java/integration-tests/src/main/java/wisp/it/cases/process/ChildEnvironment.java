package wisp.it.cases.process;

import static wisp.it.Kit.say;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.Set;
import java.util.TreeSet;
import wisp.it.WispCase;

/** Nothing of ours is in the environment of this process or of its children. */
@WispCase(smoke = true)
public final class ChildEnvironment {
    public static void main(String[] args) throws Exception {
        say("own: %s", ours(System.getenv().keySet()));
        Process env = new ProcessBuilder("env").start();
        TreeSet<String> names = new TreeSet<>();
        try (BufferedReader reader = new BufferedReader(new InputStreamReader(env.getInputStream()))) {
            for (String line = reader.readLine(); line != null; line = reader.readLine()) {
                names.add(line.replaceFirst("=.*", ""));
            }
        }
        say("child ended with %d", env.waitFor());
        say("child: %s", ours(names));
        // And nothing of ours is mapped into it.
        Process maps = new ProcessBuilder("grep", "-c", "libwisp", "/proc/self/maps").start();
        BufferedReader reader = new BufferedReader(new InputStreamReader(maps.getInputStream()));
        say("mapped %s", reader.readLine());
        maps.waitFor();
    }

    private static Set<String> ours(Set<String> names) {
        Set<String> found = new TreeSet<>(names);
        found.removeIf(name -> !name.startsWith("LD_PRELOAD") && !name.startsWith("WISP"));
        return found;
    }
}
