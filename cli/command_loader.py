"""Imports the module of a command only when the user runs the command.

The modules of the commands import large libraries, which takes time. `tenancy --help` imports none of these
modules. The shell completion of command names and tenant names imports none of them either.
"""

import ast
from collections.abc import Callable
from copy import copy
from importlib import import_module
from pathlib import Path
from typing import Any, Final, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup, TyperOption
from typer.main import get_command

from cli.completion import TenantName, TenantNames
from cli.connection import Connection

# Each command accepts the options of `tenancy` too. The help of the command lists them under this heading.
GLOBAL_OPTIONS: Final = "Global options"


def _one_name(name: TenantName) -> None:
    """Declares the argument of commands that need the name of one tenant. This function is never called."""


def _names(names: TenantNames = None) -> None:
    """Declares the argument of commands that accept several tenant names. This function is never called."""


class Source(NamedTuple):
    """Where to find the code of a command.

    `function` is the module and the function in the package `cli.commands`. For example, `show.show` is the
    function `show` in the module `cli.commands.show`. If this module has a variable `app`, the command is a
    group of subcommands, and `app` is its Typer app.

    `arguments` is a function that declares the command's arguments. It is None, unless all arguments are
    names of tenants.

    If the command is a second name of another command, `alias_of` is the name of that other command.
    Otherwise, `alias_of` is empty.
    """

    function: str
    arguments: Callable[..., None] | None = None
    alias_of: str = ""


# `--help` lists the commands in this order.
COMMANDS: Final = {
    "list": Source("list_tenants.list_tenants", _names),
    "show": Source("show.show", _one_name),
    "describe": Source("show.show", _one_name, alias_of="show"),
    "usage": Source("usage.usage", _one_name),
    "preview": Source("preview.preview"),
    "apply": Source("apply.apply_tenants"),
    "validate": Source("preview.validate"),
    "diff": Source("diff.diff", _one_name),
    "history": Source("history.history", _one_name),
    "rollback": Source("rollback.rollback", _one_name),
    "pause": Source("pause_resume.pause", _names),
    "resume": Source("pause_resume.resume", _names),
    "cordon": Source("pause_resume.cordon", _names),
    "uncordon": Source("pause_resume.uncordon", _names),
    "delete": Source("delete.delete", _names),
    "sessions": Source("sessions.sessions"),
    "plans": Source("plans.list_plans"),
    "import": Source("import_namespaces.import_namespaces"),
    "prove": Source("prove.prove", _names),
    "state": Source("state.state"),
    "doctor": Source("doctor.doctor"),
    "crd": Source("doctor.print_crds"),
}


class CommandGroup(TyperGroup):
    """The group of all commands. Each command also accepts the global options, such as `--context`."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands = {name: TyperCommand(name=name) for name in COMMANDS}
        self._global_options = [
            _command_option(option)
            for option in self.params
            if isinstance(option, TyperOption) and option.rich_help_panel == GLOBAL_OPTIONS
        ]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command with its help text, but without its parameters. None if no command has this name.

        `tenancy --help` does not need the parameters.
        """
        command = super().get_command(ctx, cmd_name)
        if command:
            command.help = _help_text(cmd_name)
        return command

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if ctx.resilient_parsing:
            _convert_only_given_values(self.get_params(ctx))
        return super().parse_args(ctx, args)

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """The name of the command in the first argument, the command itself, and the remaining arguments.

        During shell completion, the name and the command are None if there is no such command.
        """
        name, _, rest = super().resolve_command(ctx, args)
        if name is None:
            return None, None, rest
        arguments = COMMANDS[name].arguments
        # If the last argument is an option, the next word may be the value of this option.
        if ctx.resilient_parsing and arguments and not (rest and rest[-1].startswith("-")):
            command = self.with_global_options(_names_command(name, arguments))
            _convert_only_given_values(command.params)
            return name, command, rest
        return name, self.with_global_options(load_command(name)), rest

    def with_global_options(self, command: Any) -> Any:
        """Add the global options to the command and its subcommands."""
        for each in (command, *getattr(command, "commands", {}).values()):
            each.params.extend(self._global_options)
        return command


def load_command(name: str) -> Any:
    """Import the command's module, and return the command with its parameters, but without global options."""
    module_name, _, function = COMMANDS[name].function.partition(".")
    module = import_module(f"cli.commands.{module_name}")
    command: Any = get_command(getattr(module, "app", None) or _app(getattr(module, function)))
    command.name = name
    if COMMANDS[name].alias_of:
        command.help = _help_text(name)
    return command


class _NamesCommand(TyperCommand):
    """A substitute for a command during shell completion.

    It completes names of tenants without importing the command's module.
    """

    def shell_complete(self, ctx: Any, incomplete: str) -> Any:
        """The command's options that start with `incomplete`. Imports the command's module."""
        command = ctx.parent.command.with_global_options(load_command(self.name or ""))
        return command.shell_complete(ctx, incomplete)


def _names_command(name: str, arguments: Callable[..., None]) -> Any:
    settings = {"ignore_unknown_options": True}
    app = _app(arguments, name=name, cls=_NamesCommand, add_help_option=False, context_settings=settings)
    return get_command(app)


def _app(function: Callable[..., None], **settings: Any) -> typer.Typer:
    app = typer.Typer(add_completion=False, rich_markup_mode="markdown")
    app.command(**settings)(function)
    return app


def _convert_only_given_values(parameters: list[Any]) -> None:
    """Change the parameters, so that Typer converts the value of a parameter only if the user gives a value.

    Typer imports pydantic to convert a value, and this import is slow. Most shell completions need no
    conversion.
    """
    for parameter in parameters:
        parameter.process_value = _given_value_converter(parameter.process_value)


def _given_value_converter(process_value: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda ctx, value: process_value(ctx, value) if value else None


def _command_option(option: TyperOption) -> TyperOption:
    """A copy of a global option for a command. Typer does not pass its value to the command's function."""
    own = copy(option)
    own.expose_value, own.callback = False, _set_global_option
    return own


def _set_global_option(context: Any, option: Any, value: Any) -> None:
    """Apply a global option that the user wrote after the command, as in `tenancy list --context dev`.

    If the user also wrote the option before the command, the value after the command is used. If the option
    can be repeated, the values before and after the command are both used.
    """
    if not value:
        return
    options = context.find_root().params
    options[option.name] = [*(options.get(option.name) or ()), *value] if option.multiple else value
    if not context.resilient_parsing:
        context.obj = Connection.from_options(**options)


def _help_text(name: str) -> str:
    """The help text of a command.

    It is the docstring of the command's function. To read the docstring, this function parses the source
    file, and does not import the module. If the command is an alias, the help text only names the command
    that the alias runs.
    """
    if alias_of := COMMANDS[name].alias_of:
        return f"The same as `tenancy {alias_of}`."
    module, _, function = COMMANDS[name].function.partition(".")
    source = Path(__file__).with_name("commands") / f"{module}.py"
    definitions = ast.parse(source.read_bytes()).body
    return next(
        ast.get_docstring(node) or ""
        for node in definitions
        if isinstance(node, ast.FunctionDef) and node.name == function
    )
