package wisp.it.cases.databases;

import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import org.h2.tools.Server;
import wisp.it.Kit;
import wisp.it.WispCase;

/** H2 with 40 threads: in memory, in a file, and through its TCP server. */
@WispCase(carriers = {1, 2}, minJdk = 11, timeoutSeconds = 120)
public final class H2Threads {
    public static void main(String[] args) throws Exception {
        Path folder = Files.createTempDirectory("wisp-h2");
        transfers("memory", "jdbc:h2:mem:bank;DB_CLOSE_DELAY=-1", 40, 50);
        transfers("file", "jdbc:h2:file:" + folder + "/bank", 20, 20);
        Server server = Server.createTcpServer("-tcpPort", "0", "-baseDir", folder.toString(), "-ifNotExists").start();
        transfers("tcp", "jdbc:h2:tcp://127.0.0.1:" + server.getPort() + "/remote", 20, 20);
        server.stop();
        for (File file : folder.toFile().listFiles()) {
            file.delete();
        }
        Files.delete(folder);
    }

    private static void transfers(String what, String url, int threads, int each) throws Exception {
        try (Connection kept = DriverManager.getConnection(url, "sa", "")) {
            try (Statement make = kept.createStatement()) {
                Bank.create(make);
            }
            Kit.together(threads, "client", () -> {
                try (Connection connection = DriverManager.getConnection(url, "sa", "")) {
                    Bank.transfer(connection, each);
                }
            });
            Bank.say(what, kept);
            try (Statement end = kept.createStatement()) {
                end.execute("SHUTDOWN");
            }
        } catch (SQLException e) {
            throw new IllegalStateException(what, e);
        }
    }
}
