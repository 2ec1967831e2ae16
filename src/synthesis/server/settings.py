"""What a server is started with."""

import ipaddress

import msgspec

from synthesis.errors import OptionError

LEAST_TOKEN = 16
LOOPBACK_NAMES = ("localhost", "127.0.0.1", "::1")


class ServerSettings(msgspec.Struct, frozen=True):
    """Where to listen, who has access, and the limits."""

    host: str = "127.0.0.1"
    port: int = 8765
    token: str | None = None
    people: tuple[tuple[str, str], ...] = ()  # names, and what proves the token of each
    allowed_hosts: tuple[str, ...] = ()  # host names besides the address itself
    history: str | None = None  # file or URL of the history of runs
    folders: tuple[str, ...] = ()  # rule packs on top
    disabled: tuple[str, ...] = ()  # rules switched off
    workers: int = 1
    max_body: int = 1 << 20  # bytes of one request, and of one line of a batch
    max_upload: int = 100 << 20  # bytes of an uploaded file
    timeout: float = 30.0  # seconds for a body to arrive, and for one evaluation
    concurrency: int = 64  # evaluations at once
    uploads: int = 8  # uploads waiting or running, and as many judged runs
    access_log: bool = False
    folder: str = ""  # of this server process and its workers, for jobs and counts; private, removed at the end

    def require_safe(self) -> None:
        """OptionError for a server that is open to the network without a token, or with a short one."""
        if self.token is not None and len(self.token) < LEAST_TOKEN:
            raise OptionError(
                f"the token has {len(self.token)} characters; at least {LEAST_TOKEN} are required",
                hint='Make one with: python3 -c "import secrets; print(secrets.token_urlsafe())"',
            )
        if not self.asks_for_token and not is_loopback(self.host):
            raise OptionError(
                f"{self.host} can be reached from other machines, so a token is required",
                hint="Set SYNTHESIS_TOKEN, or leave --host out to listen on this machine alone.",
            )

    @property
    def asks_for_token(self) -> bool:
        return self.token is not None or bool(self.people)


def is_loopback(host: str) -> bool:
    """Whether an address can be reached from this machine alone."""
    address = address_of(host)
    return host.lower() == "localhost" if address is None else address.is_loopback


def address_of(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """The IP address in `host`; None for a name."""
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None
