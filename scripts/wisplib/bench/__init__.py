"""`wisp bench`: the field's experiments on this machine. docs/benchmarks.md is the user's page.

command    the options, and which workloads
workload   what a workload is made of: Series, Table, Plot, Published; how to write one
runner     rounds, budgets, progress: runs the series interleaved
report     Markdown, CSV, JSON and the terminal; html the page; plots the pictures (matplotlib)
machine    what a report says of the machine
workloads  one file per workload; found by being there, and in the folders of $WISP_BENCH_PATH
"""
