package wisp.it.cases.servers;

import java.io.File;
import java.io.FileInputStream;
import java.io.InputStream;
import java.nio.file.Files;
import java.security.KeyStore;
import java.security.PrivateKey;
import java.security.cert.X509Certificate;
import java.util.concurrent.TimeUnit;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;
import wisp.it.Kit;

/** A self-signed certificate for loopback, made by the JDK's keytool for one run; its holder also trusts it. */
public final class Certificate implements AutoCloseable {
    static final String TYPE = "PKCS12";
    static final String PASSWORD = "secret";
    private static final char[] SECRET = PASSWORD.toCharArray();
    final File store;
    private final KeyStore keys = KeyStore.getInstance(TYPE);

    public Certificate() throws Exception {
        store = new File(Files.createTempDirectory("wisp-keys").toFile(), "store.p12");
        // Its class and not the command: a JRE of few files has only the one.
        ProcessBuilder keytool = new ProcessBuilder(System.getProperty("java.home") + "/bin/java",
                "sun.security.tools.keytool.Main", "-genkeypair", "-alias", "wisp", "-keyalg", "RSA", "-keysize", "2048",
                "-sigalg", "SHA256withRSA", "-validity", "2", "-startdate", "-1d", "-dname", "CN=localhost",
                "-ext", "SAN=dns:localhost,ip:127.0.0.1", "-storetype", TYPE, "-keystore", store.getPath(),
                "-storepass", PASSWORD, "-keypass", PASSWORD);
        keytool.environment().remove("LD_PRELOAD"); // only this JVM is the case
        Process process = keytool.redirectErrorStream(true).redirectOutput(new File(store + ".log")).start();
        Kit.check("keytool ends", process.waitFor(300, TimeUnit.SECONDS));
        Kit.check("keytool made " + store, process.exitValue() == 0);
        try (InputStream in = new FileInputStream(store)) {
            keys.load(in, SECRET);
        }
    }

    /** A new one has no sessions to resume. */
    public SSLContext context() throws Exception {
        KeyManagerFactory own = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
        own.init(keys, SECRET);
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(own.getKeyManagers(), trust().getTrustManagers(), null);
        return context;
    }

    public TrustManagerFactory trust() throws Exception {
        KeyStore trusted = KeyStore.getInstance(TYPE);
        trusted.load(null, null);
        trusted.setCertificateEntry("wisp", certificate());
        TrustManagerFactory trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
        trust.init(trusted);
        return trust;
    }

    public X509Certificate certificate() throws Exception {
        return (X509Certificate) keys.getCertificate("wisp");
    }

    public PrivateKey key() throws Exception {
        return (PrivateKey) keys.getKey("wisp", SECRET);
    }

    @Override
    public void close() {
        for (File file : store.getParentFile().listFiles()) {
            file.delete();
        }
        store.getParentFile().delete();
    }
}
