package wisp.bench;

import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * Command-line options of the form {@code --name value}. Each program names its options and their
 * defaults once; anything else on the command line is an error that says what would be accepted.
 */
final class Options {
    private final String program;
    private final Map<String, String> defaults = new LinkedHashMap<>();
    private final Map<String, String> values = new HashMap<>();

    Options(Class<?> program) {
        this.program = program.getSimpleName();
    }

    Options define(String name, Object defaultValue) {
        defaults.put(name, String.valueOf(defaultValue));
        return this;
    }

    Options parse(String[] args) {
        values.putAll(defaults);
        for (int i = 0; i < args.length; i++) {
            String name = args[i].startsWith("--") ? args[i].substring(2) : "";
            if (name.equals("help")) {
                System.out.println(usage());
                System.exit(0);
            }
            if (!values.containsKey(name)) {
                throw fail("unknown option '" + args[i] + "'");
            }
            if (i + 1 == args.length) {
                throw fail("option --" + name + " needs a value");
            }
            values.put(name, args[++i]);
        }
        return this;
    }

    String text(String name, String... accepted) {
        String value = values.get(name);
        if (accepted.length > 0 && !Arrays.asList(accepted).contains(value)) {
            throw fail("option --" + name + ": '" + value + "' is not one of " + String.join(", ", accepted));
        }
        return value;
    }

    int number(String name, int min, int max) {
        try {
            int value = Integer.parseInt(values.get(name).replace("_", ""));
            if (value >= min && value <= max) {
                return value;
            }
        } catch (NumberFormatException malformed) {
            // reported below, in the same words as a value out of range
        }
        throw fail("option --" + name + ": '" + values.get(name) + "' is not a whole number from " + min + " to " + max);
    }

    private String usage() {
        StringBuilder text = new StringBuilder("usage: ").append(program);
        defaults.forEach((name, value) -> text.append(" [--").append(name).append(' ').append(value).append(']'));
        return text.toString();
    }

    private RuntimeException fail(String what) {
        System.err.println(program + ": " + what + "\n" + usage());
        System.exit(2);
        return new IllegalStateException(what);
    }
}
