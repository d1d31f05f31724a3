import http.client
import threading
from contextlib import closing

import pytest

from webagent.environment.browsergym_environment import LocalSite


def get(address: str, path: str) -> tuple[int, bytes]:
    with closing(http.client.HTTPConnection(address, timeout=30)) as connection:
        connection.request("GET", path)
        response = connection.getresponse()
        return response.status, response.read()


def test_a_folder_is_served_on_this_machine_until_it_is_closed(tmp_path, capfd):
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages" / "a.html").write_text("<p>hello")
    (tmp_path / "secret").write_text("secret")
    before = threading.active_count()
    site = LocalSite(tmp_path / "pages")
    assert site.address.startswith("127.0.0.1:")
    assert get(site.address, "/a.html") == (200, b"<p>hello")
    assert get(site.address, "/../secret")[0] == 404
    assert get(site.address, "/%2e%2e/secret")[0] == 404
    site.close()
    assert threading.active_count() == before
    with pytest.raises(ConnectionError):
        get(site.address, "/a.html")
    assert capfd.readouterr() == ("", "")


def test_pages_that_do_not_say_so_are_read_as_utf_8(tmp_path):
    (tmp_path / "a.html").write_text("<p>ÖK")
    (tmp_path / "a.png").write_bytes(b"")
    site = LocalSite(tmp_path)
    types = []
    for name in ("a.html", "a.png"):
        with closing(http.client.HTTPConnection(site.address, timeout=30)) as connection:
            connection.request("HEAD", f"/{name}")
            types.append(connection.getresponse().getheader("Content-Type"))
    site.close()
    assert types == ["text/html; charset=utf-8", "image/png"]
