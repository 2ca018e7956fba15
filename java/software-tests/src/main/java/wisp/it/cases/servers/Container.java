package wisp.it.cases.servers;

import java.io.File;
import java.nio.file.Files;
import java.util.logging.Level;
import java.util.logging.Logger;
import javax.servlet.http.HttpServlet;
import org.apache.catalina.Context;
import org.apache.catalina.connector.Connector;
import org.apache.catalina.startup.Tomcat;
import org.apache.tomcat.util.net.SSLHostConfig;
import org.apache.tomcat.util.net.SSLHostConfigCertificate;

/** An embedded Tomcat 9 on a free port of loopback, with the blocking servlets. */
public final class Container implements AutoCloseable {
    private static final Logger QUIET = Logger.getLogger("org.apache");
    private final Tomcat tomcat = new Tomcat();
    private final Context context;
    private final File folder;

    public Container(int threads) throws Exception {
        this(threads, "Http11NioProtocol");
    }

    Container(int threads, String protocol) throws Exception {
        this(threads, protocol, null);
    }

    /** Over TLS if there is a certificate. */
    public Container(int threads, String protocol, Certificate certificate) throws Exception {
        QUIET.setLevel(Level.SEVERE);
        folder = Files.createTempDirectory("wisp-tomcat").toFile();
        tomcat.setBaseDir(folder.getPath());
        Connector connector = new Connector("org.apache.coyote.http11." + protocol);
        connector.setPort(0);
        connector.setProperty("address", "127.0.0.1");
        connector.setProperty("maxThreads", String.valueOf(threads));
        connector.setProperty("maxKeepAliveRequests", "-1");
        connector.setProperty("connectionTimeout", "600000"); // also of kept ones: a client may be held up
        connector.setProperty("maxConnections", "4000");
        connector.setProperty("acceptCount", "1000");
        if (certificate != null) {
            secure(connector, certificate);
        }
        tomcat.setConnector(connector);
        context = tomcat.addContext("", folder.getPath());
        add("hello", new Servlets.Hello());
        add("slow", new Servlets.Slow());
        add("large", new Servlets.Large());
        add("sum", new Servlets.Sum());
    }

    private static void secure(Connector connector, Certificate certificate) {
        SSLHostConfig host = new SSLHostConfig();
        SSLHostConfigCertificate rsa = new SSLHostConfigCertificate(host, SSLHostConfigCertificate.Type.RSA);
        rsa.setCertificateKeystoreFile(certificate.store.getPath());
        rsa.setCertificateKeystoreType(Certificate.TYPE);
        rsa.setCertificateKeystorePassword(Certificate.PASSWORD);
        host.addCertificate(rsa);
        connector.addSslHostConfig(host);
        connector.setProperty("SSLEnabled", "true");
        connector.setScheme("https");
        connector.setSecure(true);
    }

    public void add(String name, HttpServlet servlet) {
        Tomcat.addServlet(context, name, servlet);
        context.addServletMappingDecoded("/" + name, name);
    }

    public int start() throws Exception {
        tomcat.start();
        return tomcat.getConnector().getLocalPort();
    }

    @Override
    public void close() throws Exception {
        tomcat.stop();
        tomcat.destroy();
        // Set by Tomcat; the next container would take this one's folder.
        System.clearProperty("catalina.base");
        System.clearProperty("catalina.home");
        delete(folder);
    }

    private static void delete(File file) {
        File[] inside = file.listFiles();
        if (inside != null) {
            for (File one : inside) {
                delete(one);
            }
        }
        file.delete();
    }
}
