"""Passwords in the names of storages, which no message, report or log may show."""

from __future__ import annotations

import re

#: What stands in the place of a password.
HIDDEN = "***"

#: Names of settings of a connection that are secret, in a URL's query or a connection string.
_SECRET = r"(?:pass(?:word|wd|phrase)?|pwd|secret|token|api[_-]?key|access[_-]?key|sslpassword|auth)"

#: What follows :// up to the last @ before the path, query or a blank: the password may itself have an @, a colon or a slash.
#: The scheme is short, so that the time for a text grows with its length only.
_USER = re.compile(r"(?P<start>[A-Za-z][\w+.-]{0,40}://)(?P<user>[^\s:/@?#]*):(?P<password>[^\s]*)@(?=[^\s@]*)")
_SETTING = re.compile(
    rf"(?P<name>(?<![A-Za-z0-9]){_SECRET}(?:\s*=\s*|%3[dD]))(?P<quote>[\"']?)(?P<value>[^&;\s\"']+)", re.IGNORECASE
)


def redacted(text: str) -> str:
    """Return a text in which the passwords of all URLs and connection settings are replaced.

        >>> redacted("postgresql://ann:pa:ss@wd@host/db?password=x&sslmode=require")
        'postgresql://ann:***@host/db?password=***&sslmode=require'

    What follows ``://user:`` up to the last ``@`` of a word is hidden, and so are the values of settings such as
    ``password=``, percent-encoded or not. Rather too much is hidden than too little.
    """
    hidden = _USER.sub(rf"\g<start>\g<user>:{HIDDEN}@", text)
    return _SETTING.sub(rf"\g<name>\g<quote>{HIDDEN}", hidden)


def without_secrets(message: str, url: str) -> str:
    """Return the message of a driver without the password of a URL, however the driver writes it."""
    from urllib.parse import unquote, unquote_plus

    found = [match["password"] for match in _USER.finditer(url)] + [match["value"] for match in _SETTING.finditer(url)]
    words = {form for word in found for form in (word, unquote(word), unquote_plus(word)) if len(form) > 1}
    for word in sorted(words, key=len, reverse=True):
        message = message.replace(word, HIDDEN)
    return redacted(message)
