package wisp.it.cases.databases;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.concurrent.TimeUnit;
import wisp.it.Kit;
import wisp.it.cases.servers.Ports;

/** A PostgreSQL server of our own on loopback. It ends when this process ends, however that comes. */
public final class Cluster implements AutoCloseable {
    private final Process script;
    public final String url;

    public Cluster() throws IOException {
        int port = Ports.free();
        url = "jdbc:postgresql://127.0.0.1:" + port + "/postgres?user=wisp&sslmode=disable";
        // The module's folder is the working directory of all cases.
        Path path = Paths.get("postgres-cluster").toAbsolutePath();
        script = new ProcessBuilder(path.toString(), String.valueOf(port))
                .redirectError(ProcessBuilder.Redirect.INHERIT).start();
        BufferedReader out = new BufferedReader(new InputStreamReader(script.getInputStream()));
        String line = out.readLine();
        Kit.check("PostgreSQL says ready, not " + line, "ready".equals(line));
    }

    @Override
    public void close() throws Exception {
        script.getOutputStream().close();
        Kit.check("PostgreSQL ends", script.waitFor(300, TimeUnit.SECONDS));
        Kit.say("PostgreSQL ended with %d", script.exitValue());
    }
}
