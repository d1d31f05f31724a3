import pytest

from webagent.environment.browser import Hosts
from webagent.environment.network import check_destination

HOSTS = Hosts(allowed=frozenset({"shop.example"}), local={"miniwob.localhost": "127.0.0.1:1"})


@pytest.mark.parametrize(
    "url", ["http://miniwob.localhost/a?b#c", "https://shop.example:8443/", "about:blank"]
)
def test_the_tasks_own_hosts_may_be_opened(url):
    check_destination(url, HOSTS)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "file:///etc/passwd",
        "javascript:alert(1)",
        "data:text/html,x",
        "chrome://version",
        "view-source:http://shop.example",
        "ftp://shop.example",
        "http://shop.example.evil.test/",
        "http://evil.test/?shop.example",
        "http://shop.example@evil.test/",
        "http://127.0.0.1/",
        "http://[::1]/",
        "shop.example",
    ],
)
def test_nothing_else_may_be_opened(url):
    with pytest.raises(ValueError, match=r"own hosts: miniwob.localhost, shop.example"):
        check_destination(url, HOSTS)
