"""The commands of `./dev`: what they are called, what they take, and which function does the work.

The script `dev` calls `main`. Only the standard library is imported here, and a command's module only when
that command runs, so that `--help` answers before anything is set up.
"""

import argparse
import pkgutil
import shutil
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from embedded import environment
from embedded.cache import cache_folder
from embedded.errors import SetupFailed

EPILOG = """\
examples:
  ./dev run                        a control plane and the watcher, until Ctrl-C
  ./dev run --detach && eval "$(./dev env)" && tenancy list
  ./dev test --quick               the tests that need no cluster
  ./dev test tests/toolchain -x    a part of the tests; other arguments go to pytest
  ./dev mutate                     whether the tests notice faults; --list says which
  ./dev check                      what the tests don't see: style, types, layers, docs
"""


def main(arguments: Sequence[str]) -> int:
    args = parsed(arguments)
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
    """A polite kill works like Ctrl-C: child processes are ended, nothing half made is left."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    # A shell's background jobs start with Ctrl-C ignored, and Python then leaves it so.
    signal.signal(signal.SIGINT, signal.default_int_handler)


def clean(args: argparse.Namespace) -> int:
    state = environment.state_folder()
    if state.exists():
        from embedded.run.commands import stop

        stop(args)
        shutil.rmtree(state, ignore_errors=True)
        print(f"removed {state}")
        # What `pulumi` by hand has noted for its stacks: salts that fit no other passphrase.
        for settings in environment.ROOT.glob("Pulumi.tenant-*.yaml"):
            settings.unlink()
    if args.cache and cache_folder().exists():
        shutil.rmtree(cache_folder())
        print(f"removed {cache_folder()}")
    return 0


def parsed(arguments: Sequence[str]) -> argparse.Namespace:
    if arguments[:1] == ["test"] and arguments[1:2] not in (["-h"], ["--help"]):
        # pytest's options are not ours to understand, and argparse would reorder or refuse them.
        args = parser().parse_args(["test"])
        args.pytest_arguments = list(arguments[1:])
        return args
    return parser().parse_args(arguments)


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(
        prog="./dev",
        description="Run, test and check the tenancy operator. Needs Python 3.11+; gets or builds the rest.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = top.add_subparsers(title="commands", metavar="COMMAND", required=True)

    def add(name: str, command: str, text: str) -> argparse.ArgumentParser:
        added = commands.add_parser(name, help=text, description=f"{text[0].upper()}{text[1:]}.")
        added.set_defaults(command=command, needs_packages=lambda: True)
        return added

    session = "embedded.run.commands"
    run = add("run", f"{session}:run", "start a control plane and the watcher; Ctrl-C ends both")
    how = run.add_mutually_exclusive_group()
    how.add_argument("--once", action="store_true", help="apply the examples, show the outcome, end")
    how.add_argument("--detach", action="store_true", help="return when ready; end it with ./dev stop")
    run.add_argument(
        "--cluster", nargs="?", const="", metavar="CONTEXT", help="use a cluster of your own kubeconfig"
    )
    run.add_argument("--picture", type=Path, metavar="FILE", help="with --once: save the table as an SVG")
    run.add_argument("--timeout", type=float, default=180, metavar="S", help="limit for --once in seconds")
    add("env", f"{session}:env", 'print what reaches the running session: eval "$(./dev env)"')
    pid = add("pid", f"{session}:pid", "print the process id of a part of the running session")
    pid.add_argument("name", metavar="NAME", help="the part, for example watcher or etcd")
    add("stop", f"{session}:stop", "stop the running session")
    test = add("test", "embedded.quality:test", "run the tests; all other arguments go to pytest")
    test.usage = "./dev test [--quick | --long] [--random-order[=SEED]] [--cov] [pytest arguments]"
    tier = test.add_mutually_exclusive_group()
    tier.add_argument(
        "--quick", action="store_true", help="only tests that need no cluster, no browser and no build"
    )
    tier.add_argument("--long", action="store_true", help="only load and soak tests, at full size")
    test.add_argument(
        "--random-order", nargs="?", metavar="SEED", help="shuffle files, and tests in files; prints the seed"
    )
    test.add_argument(
        "--cov", action="store_true", help="measure coverage, also in processes that tests start"
    )
    mutate = add(
        "mutate", "embedded.mutate:mutate", "break the product on purpose, and check that its tests fail"
    )
    mutate.add_argument("names", nargs="*", metavar="NAME", help="only these mutations; default: all")
    mutate.add_argument("--list", action="store_true", help="print one line per mutation, and run nothing")
    add("check", "embedded.quality:check", "check style, formatting, types, import layers and the docs")
    add("docs", "embedded.docs:docs", "build the docs as a site and print where it is")
    add(
        "generate",
        "embedded.generate:generate",
        "write the files that are generated from the code",
    )
    bench = add(
        "bench", "embedded.bench:bench", "measure what a tenant costs, side by side with two other ways"
    )
    bench.add_argument("--json", metavar="FILE", help="also write the figures to this file")
    cleaner = add("clean", "embedded.cli:clean", "stop the session and remove .dev/ from this checkout")
    cleaner.add_argument("--cache", action="store_true", help="also remove the environment and the tools")
    cleaner.set_defaults(needs_packages=lambda: environment.state_folder().exists())
    return top
