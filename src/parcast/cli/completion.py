"""What a shell offers when Tab is pressed; values that are joined to options by "=" as well."""

from click.shell_completion import (
    BashComplete,
    CompletionItem,
    FishComplete,
    ShellComplete,
    ZshComplete,
    add_completion_class,
)


class _Joined(ShellComplete):
    """Completes `--scaling=s` too, which bash gives as three words and others as one."""

    def get_completions(self, args: list[str], incomplete: str) -> list[CompletionItem]:
        """Give what may follow."""
        found = super().get_completions([x for x in args if x != "="], incomplete)
        option, sign, _ = incomplete.partition("=")
        if option.startswith("-") and sign:
            for item in found:
                item.value = f"{option}={item.value}" if item.type == "plain" else item.value
        return found


def register() -> None:
    """Take the place of what Click has for each shell."""
    for shell in (BashComplete, ZshComplete, FishComplete):
        add_completion_class(type(shell.__name__, (_Joined, shell), {}))
