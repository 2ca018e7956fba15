package wisp.it;

import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** Output of a child in the form in which two runs are compared, and how two of them differ. */
final class Comparison {
    private static final Pattern ADDRESS = Pattern.compile("@[0-9a-f]{2,16}\\b|0x[0-9a-f]{8,16}");
    /** Lines of the JVM or of the library about themselves. */
    private static final Pattern CHATTER = Pattern.compile("wisp: .*|Picked up .*|(OpenJDK|Java HotSpot).* warning: .*"
            + "|\\[\\d+[.,]\\d+s\\]\\[warning *\\]\\[.*");

    private Comparison() {
    }

    static List<String> normalised(String output, String keep) {
        Stream<String> lines = output.lines().map(String::stripTrailing)
                .filter(line -> !CHATTER.matcher(line).matches());
        if (!keep.isEmpty()) {
            Pattern pattern = Pattern.compile(keep);
            lines = lines.map(pattern::matcher).filter(Matcher::find)
                    .map(match -> match.groupCount() > 0 && match.group(1) != null ? match.group(1) : match.group());
        }
        return lines.map(line -> ADDRESS.matcher(line).replaceAll("@#")).toList();
    }

    /** Lines of both, common beginning and end shortened. Empty when they are equal. */
    static String difference(List<String> plain, List<String> wisp) {
        if (plain.equals(wisp)) {
            return "";
        }
        int start = 0;
        while (start < Math.min(plain.size(), wisp.size()) && plain.get(start).equals(wisp.get(start))) {
            start++;
        }
        int plainEnd = plain.size();
        int wispEnd = wisp.size();
        while (plainEnd > start && wispEnd > start && plain.get(plainEnd - 1).equals(wisp.get(wispEnd - 1))) {
            plainEnd--;
            wispEnd--;
        }
        StringBuilder text = new StringBuilder();
        append(text, "  ", plain.subList(Math.max(0, start - 3), start));
        append(text, "- ", plain.subList(start, plainEnd));
        append(text, "+ ", wisp.subList(start, wispEnd));
        append(text, "  ", plain.subList(plainEnd, Math.min(plain.size(), plainEnd + 3)));
        return text.toString();
    }

    private static void append(StringBuilder text, String mark, List<String> lines) {
        lines.stream().limit(40).forEach(line -> text.append(mark).append(line).append('\n'));
        if (lines.size() > 40) {
            text.append(mark).append("… ").append(lines.size() - 40).append(" lines more\n");
        }
    }
}
