"""The statistics of the reports: all of them survive a bad run, none invents a figure from nothing."""

import statistics


def median_mad(samples):
    """Median, and the median distance from it: a spread that one bad run does not move."""
    middle = statistics.median(samples)
    return middle, statistics.median(abs(s - middle) for s in samples)


def percentile(samples, percent):
    """The sample that so many percent of all lie at or below (the nearest one: nothing is interpolated)."""
    ordered = sorted(samples)
    if not ordered:
        raise ValueError("no samples")
    return ordered[round((len(ordered) - 1) * percent / 100)]


def summary(samples):
    """What a report states of one metric of one series."""
    median, mad = median_mad(samples)
    return {"median": median, "mad": mad, "mean": statistics.fmean(samples), "min": min(samples),
            "max": max(samples), "runs": len(samples)}


def median_ratio(above, below):
    """The median of the ratios round by round, and its spread; what disturbed one round hits both alike.

    None when no round has both figures.
    """
    ratios = [a / b for a, b in zip(above, below) if a is not None and b]
    return median_mad(ratios) if ratios else None


def bend(points, share=0.5):
    """Where a curve of (size, throughput) stops to grow: the first size at which a step brings less than
    this share of what growth in proportion would. None when it never does. Sizes ascend."""
    for (size, value), (next_size, next_value) in zip(points, points[1:]):
        wanted = value * (next_size / size - 1)
        if next_value - value < share * wanted:
            return size
    return None
