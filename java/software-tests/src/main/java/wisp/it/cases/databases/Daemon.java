package wisp.it.cases.databases;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.concurrent.TimeUnit;
import wisp.it.Kit;
import wisp.it.cases.servers.Ports;

/** A server of our own on loopback, run by a script of this module. It ends when this process ends, however that comes. */
final class Daemon implements AutoCloseable {
    private final String name;
    private final Process script;
    final int port;

    Daemon(String name, String script) throws IOException {
        this.name = name;
        port = Ports.free();
        // The module's folder is the working directory of all cases.
        Path path = Paths.get(script).toAbsolutePath();
        this.script = new ProcessBuilder(path.toString(), String.valueOf(port))
                .redirectError(ProcessBuilder.Redirect.INHERIT).start();
        BufferedReader out = new BufferedReader(new InputStreamReader(this.script.getInputStream()));
        String line = out.readLine();
        Kit.check(name + " says ready, not " + line, "ready".equals(line));
    }

    @Override
    public void close() throws Exception {
        script.getOutputStream().close();
        Kit.check(name + " ends", script.waitFor(300, TimeUnit.SECONDS));
        Kit.say("%s ended with %d", name, script.exitValue());
    }
}
