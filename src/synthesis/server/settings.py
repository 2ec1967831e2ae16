"""What a server is started with."""

import ipaddress

import msgspec

from synthesis.errors import OptionError

LEAST_TOKEN = 16
LOOPBACK_NAMES = ("localhost", "127.0.0.1", "::1")


class ServerSettings(msgspec.Struct, frozen=True):
    """Where to listen, whom to let in, how much to take on."""

    host: str = "127.0.0.1"
    port: int = 8765
    token: str | None = None
    allowed_hosts: tuple[str, ...] = ()  # names besides those that the address itself gives
    history: str | None = None  # file or URL of the history of runs
    folders: tuple[str, ...] = ()  # rule packs on top
    disabled: tuple[str, ...] = ()  # rules switched off
    workers: int = 1
    max_body: int = 1 << 20  # bytes of one request, and of one line of a batch
    max_upload: int = 100 << 20  # bytes of an uploaded file
    timeout: float = 30.0  # seconds for a body to arrive, and for one evaluation
    concurrency: int = 64  # evaluations at once
    uploads: int = 8  # uploaded files that wait or are worked on
    access_log: bool = False
    folder: str = ""  # of this run of the server, for uploads and shared counts; only its owner can read it

    def require_safe(self) -> None:
        """OptionError for a server that would be open to the network, or that a short word protects."""
        if self.token is not None and len(self.token) < LEAST_TOKEN:
            raise OptionError(
                f"the token has {len(self.token)} characters, and at least {LEAST_TOKEN} are needed",
                hint='Make one with: python3 -c "import secrets; print(secrets.token_urlsafe())"',
            )
        if self.token is None and not is_loopback(self.host):
            raise OptionError(
                f"{self.host} can be reached from other machines, so a token is needed",
                hint="Set SYNTHESIS_TOKEN, or leave --host out to listen on this machine alone.",
            )


def is_loopback(host: str) -> bool:
    """Whether an address can be reached from this machine alone."""
    address = address_of(host)
    return host.lower() == "localhost" if address is None else address.is_loopback


def address_of(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """The address that a host is written as; None for a name."""
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None
