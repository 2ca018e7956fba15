import java.io.ByteArrayOutputStream;
import java.io.InputStream;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** Prints what the tests of the command look at; arguments choose what else it does. */
public class Probe {
    public static void main(String[] args) throws Exception {
        System.out.println("pid=" + ManagementFactory.getRuntimeMXBean().getName().split("@")[0]);
        System.out.println("home=" + System.getProperty("java.home"));
        for (String arg : args) {
            System.out.println("arg=" + arg);
        }
        for (String name : System.getProperty("show", "user.dir").split(",")) {
            System.out.println(name + "=" + System.getProperty(name));
        }
        if (args.length > 0 && args[0].equals("exit")) {
            System.exit(Integer.parseInt(args[1]));
        }
        if (args.length > 0 && args[0].equals("stdin")) {
            ByteArrayOutputStream all = new ByteArrayOutputStream();
            InputStream in = System.in;
            for (int c = in.read(); c >= 0; c = in.read()) {
                all.write(c);
            }
            System.out.println("stdin=" + all.toString("UTF-8"));
        }
        if (args.length > 0 && args[0].equals("name")) {
            String self = "/proc/" + ManagementFactory.getRuntimeMXBean().getName().split("@")[0];
            System.out.print("name=" + new String(Files.readAllBytes(Paths.get(self + "/comm")), "UTF-8"));
            System.out.println("command=" + new String(Files.readAllBytes(Paths.get(self + "/cmdline")), "UTF-8").split("\0")[0]);
            System.out.println("program=" + Files.readSymbolicLink(Paths.get(self + "/exe")));
        }
        if (args.length > 0 && args[0].equals("wait")) {
            System.out.flush();
            Thread.sleep(60000);
        }
        if (args.length > 0 && args[0].equals("child")) {
            // What Gradle and Surefire do: another JVM, found through java.home, with these options.
            List<String> command = new ArrayList<>();
            command.add(System.getProperty("java.home") + "/bin/java");
            command.addAll(Arrays.asList(args).subList(1, args.length));
            command.addAll(Arrays.asList("-cp", System.getProperty("java.class.path"), "Probe", "grandchild"));
            System.exit(new ProcessBuilder(command).inheritIO().start().waitFor());
        }
    }
}
