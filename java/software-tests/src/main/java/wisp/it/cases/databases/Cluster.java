package wisp.it.cases.databases;

import java.io.IOException;

/** A PostgreSQL server of our own. */
public final class Cluster implements AutoCloseable {
    private final Daemon daemon = new Daemon("PostgreSQL", "postgres-cluster");
    public final String url = "jdbc:postgresql://127.0.0.1:" + daemon.port + "/postgres?user=wisp&sslmode=disable";

    public Cluster() throws IOException {
    }

    @Override
    public void close() throws Exception {
        daemon.close();
    }
}
