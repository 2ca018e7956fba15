package wisp.it.cases.steps;

import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.lang.reflect.Field;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import wisp.it.Kit;

/** Child processes, their streams and their ends. */
final class Processes extends World {
    private final List<Process> processes = Collections.synchronizedList(new ArrayList<>());
    private int started;

    Processes(Random random) {
        super(random);
    }

    @Override
    Action draw(Worker worker) {
        if (processes.isEmpty() || one(6)) {
            return processes.size() > 3 ? null : begin(random.nextInt(3));
        }
        int at = random.nextInt(processes.size());
        Process process = processes.get(at);
        boolean brief = one(2);
        switch (random.nextInt(10)) {
            case 0: case 1:
                return busyWith("out" + at) > 0 ? null : read(at, process.getInputStream(), "out").about("out" + at);
            case 2:
                return busyWith("err" + at) > 0 ? null : read(at, process.getErrorStream(), "err").about("err" + at);
            case 3: case 4:
                return Action.ends(at + " write", of(() -> {
                    process.getOutputStream().write("12\n".getBytes());
                    process.getOutputStream().flush();
                    process.waitFor(3 * SHORT, unit());
                }));
            case 5:
                return Action.ends(at + " close input", of(() -> {
                    process.getOutputStream().close();
                    process.waitFor(3 * SHORT, unit());
                }));
            case 6:
                return one(2) ? Action.waits(at + " waitFor", process::waitFor)
                        : new Action(at + " waitFor " + millis(brief), kind(brief), () -> process.waitFor(millis(brief), unit()));
            case 7:
                // A reader may see the end of it or that its stream is closed, in any order.
                return busyWith("out" + at) + busyWith("err" + at) != 0 ? null : Action.ends(at + " destroy " + brief, of(() -> {
                    Object ignored = brief ? process.destroyForcibly() : null;
                    process.destroy();
                    process.waitFor(SHORT, unit());
                }));
            case 8:
                return interruptAny(worker);
            default:
                return one(2) ? Action.quick(at + " exitValue", process::exitValue) : Action.quick(at + " alive?", process::isAlive);
        }
    }

    private Action begin(int kind) {
        String[] command = kind == 0 ? new String[] {"cat"} : kind == 1 ? new String[] {"sleep", "600"}
                : new String[] {"sh", "-c", "echo begun >&2; read x; echo $x; exit $x"};
        int number = started++;
        return Action.ends("start " + number + " " + kind, of(() -> {
            Process process = new ProcessBuilder(command).start();
            processes.add(process);
            process.waitFor(3 * SHORT, unit());
        }));
    }

    private static Action read(int at, InputStream in, String name) {
        return Action.slow(at + " read " + name, () -> {
            byte[] bytes = new byte[20];
            int got = in.read(bytes);
            return got + " " + new String(bytes, 0, Math.max(0, got)).trim();
        });
    }

    /** Also what the children of this process do has come to rest, those that are being started among them. */
    @Override
    boolean isQuiet() {
        for (File task : Kit.kernelThreads()) {
            try {
                for (String child : new String(Files.readAllBytes(new File(task, "children").toPath())).split(" ")) {
                    if (!child.isEmpty() && !sleeps(child)) {
                        return false;
                    }
                }
            } catch (IOException gone) {
                return false;
            }
        }
        return true;
    }

    private static boolean sleeps(String child) throws IOException {
        String stat = new String(Files.readAllBytes(new File("/proc/" + child + "/stat").toPath()));
        return stat.charAt(stat.lastIndexOf(')') + 2) == 'S';
    }

    /** JDK 8 has no word for it. */
    private static Object idOf(Process process) {
        try {
            if (JDK == 8) {
                Field field = process.getClass().getDeclaredField("pid");
                field.setAccessible(true);
                return field.get(process);
            }
            return Process.class.getMethod("pid").invoke(process);
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }

    @Override
    List<Action> ends() {
        List<Action> all = new ArrayList<>();
        for (Process process : processes) {
            all.add(Action.ends("kill", () -> {
                new ProcessBuilder("kill", "-9", "" + idOf(process)).redirectErrorStream(true).start().waitFor();
                return process.waitFor();
            }));
        }
        return all;
    }
}
