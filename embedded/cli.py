"""The command line of `./dev`. It defines the commands, their options, and the function for each command.

This module imports only modules that need no installed package, so `--help` always works. The module of a
command is imported when that command runs.
"""

import argparse
import pkgutil
import shutil
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from embedded import environment
from embedded.bench.selection import COLUMNS, ROWS, names_in
from embedded.cache import cache_folder
from embedded.errors import SetupFailed

EPILOG = """\
examples:
  ./dev run                        run a control plane and the watcher until Ctrl-C
  ./dev run --detach && eval "$(./dev env)" && tenancy list
  ./dev test --quick               run the tests that need no cluster
  ./dev test tests/toolchain -x    run some of the tests; other arguments go to pytest
  ./dev mutate                     check that the tests detect faults; --list prints the faults
  ./dev check                      check style, types, import layers, Go code and docs
"""


def main(arguments: Sequence[str]) -> int:
    args = parsed_arguments(arguments)
    unwind_on_signals()
    try:
        if args.needs_packages() and not environment.is_entered():
            environment.enter(arguments)
        command: Callable[[argparse.Namespace], int] = pkgutil.resolve_name(args.command)
        return command(args)
    except SetupFailed as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 128 + signal.SIGINT


def unwind_on_signals() -> None:
    """Make SIGTERM and SIGINT raise exceptions. Then `finally` blocks run before the process exits."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    # A shell starts background jobs with SIGINT ignored. Python then does not install its own handler.
    signal.signal(signal.SIGINT, signal.default_int_handler)


def clean(args: argparse.Namespace) -> int:
    """Stop a running `./dev run`, and remove the state folder.

    With `--cache`, also remove the cache folder.
    """
    state = environment.state_folder()
    if state.exists():
        from embedded.run.commands import stop

        stop(args)
        shutil.rmtree(state, ignore_errors=True)
        print(f"removed {state}")
        # A manual `pulumi up` writes the encryption salt of a stack to a file with this name pattern. The
        # passphrase was in the removed state folder, and the salt is useless without the passphrase.
        for settings in environment.ROOT.glob("Pulumi.tenant-*.yaml"):
            settings.unlink()
    if args.cache and cache_folder().exists():
        shutil.rmtree(cache_folder())
        print(f"removed {cache_folder()}")
    return 0


def parsed_arguments(arguments: Sequence[str]) -> argparse.Namespace:
    if arguments[:1] == ["test"] and arguments[1:2] not in (["-h"], ["--help"]):
        # Do not let argparse parse the options of pytest. It would reorder or reject some of them.
        args = parser().parse_args(["test"])
        args.pytest_arguments = list(arguments[1:])
        return args
    return parser().parse_args(arguments)


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(
        prog="./dev",
        description="Run, test and check this project. Needs Python 3.11+. Gets or builds the other tools.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = top.add_subparsers(title="commands", metavar="COMMAND", required=True)

    def add(name: str, command: str, text: str) -> argparse.ArgumentParser:
        subparser = commands.add_parser(name, help=text, description=f"{text[0].upper()}{text[1:]}.")
        subparser.set_defaults(command=command, needs_packages=lambda: True)
        return subparser

    run_module = "embedded.run.commands"
    run = add("run", f"{run_module}:run", "run a control plane and the watcher until Ctrl-C")
    mode = run.add_mutually_exclusive_group()
    mode.add_argument(
        "--once", action="store_true", help="apply the sample tenants, wait until they are Active, and exit"
    )
    mode.add_argument(
        "--detach",
        action="store_true",
        help="run in the background, and return when it is ready; ./dev stop ends it",
    )
    run.add_argument(
        "--cluster",
        nargs="?",
        const="",
        metavar="CONTEXT",
        help="use a cluster of your kubeconfig instead of the embedded control plane",
    )
    run.add_argument("--picture", type=Path, metavar="FILE", help="with --once: save the tenant table as SVG")
    run.add_argument(
        "--timeout", type=float, default=180, metavar="S", help="time limit in seconds for the sample tenants"
    )
    add(
        "env",
        f"{run_module}:env",
        'print the environment variables for a running ./dev run; set them with: eval "$(./dev env)"',
    )
    pid = add("pid", f"{run_module}:pid", "print the id of a process of a running ./dev run")
    pid.add_argument("name", metavar="NAME", help="name of the process, for example watcher or etcd")
    add("stop", f"{run_module}:stop", "stop a running ./dev run")
    test = add("test", "embedded.quality:test", "run the tests; other arguments go to pytest")
    test.usage = "./dev test [--quick | --long] [--random-order[=SEED]] [--cov] [pytest arguments]"
    tier = test.add_mutually_exclusive_group()
    tier.add_argument(
        "--quick", action="store_true", help="run only tests that need no cluster, browser or build"
    )
    tier.add_argument("--long", action="store_true", help="run only the load and soak tests, at full size")
    test.add_argument(
        "--random-order",
        nargs="?",
        metavar="SEED",
        help="shuffle the test files and the tests in each file, and print the seed",
    )
    test.add_argument(
        "--cov", action="store_true", help="measure coverage, including processes that tests start"
    )
    mutate = add(
        "mutate",
        "embedded.mutate:mutate",
        "put known faults (mutations) into a copy of the product, and check that the tests fail",
    )
    mutate.add_argument("names", nargs="*", metavar="NAME", help="mutations to run (default: all)")
    mutate.add_argument("--list", action="store_true", help="print one line per mutation and exit")
    add("check", "embedded.quality:check", "check style, formatting, types, import layers, Go code and docs")
    add(
        "audit",
        "embedded.audit.command:audit",
        "check the dependencies for known vulnerabilities, write SBOMs and list the licenses",
    )
    add("docs", "embedded.docs:docs", "build the docs as an HTML site and print its path")
    add(
        "generate",
        "embedded.generate:generate",
        "write the files that are generated from the code: CRDs and reference pages",
    )
    bench = add(
        "bench",
        "embedded.bench.command:bench",
        "measure the speed and the cost of the watcher, and compare with two other methods",
    )
    bench.formatter_class = argparse.RawDescriptionHelpFormatter
    bench.epilog = "rows:\n" + "\n".join(f"  {name:<9}{text}" for name, text in ROWS.items())
    bench.add_argument("--json", metavar="FILE", help="also write the figures to this file as JSON")
    bench.add_argument(
        "--rows",
        type=names_in(tuple(ROWS)),
        metavar="NAMES",
        help="measure only these rows, such as create,burst",
    )
    bench.add_argument(
        "--columns",
        type=names_in(tuple(COLUMNS)),
        metavar="NAMES",
        help=f"measure only these columns: {', '.join(COLUMNS)} (default: all)",
    )
    bench.add_argument(
        "--full", action="store_true", help="also measure with 1,000 tenants; takes much longer"
    )
    clean_parser = add(
        "clean", "embedded.cli:clean", "stop a running ./dev run, and remove .dev/ from this checkout"
    )
    clean_parser.add_argument(
        "--cache", action="store_true", help="also remove the cached Python environment and tools"
    )
    clean_parser.set_defaults(needs_packages=lambda: environment.state_folder().exists())
    return top
