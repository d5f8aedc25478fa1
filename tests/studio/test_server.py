"""The studio's server: this machine's browser gets the page, everybody and everything else is refused."""

from __future__ import annotations

import http.client
import socket

import pytest

import draisine as dr
from draisine.cli.main import main
from draisine.studio.page import Page
from draisine.studio.server import Server

PAGE = Page("<!doctype html><title>a page</title>ä", "default-src 'none'; script-src 'sha256-x'")


@pytest.fixture(scope="module")
def server():
    with Server(PAGE) as found:
        yield found


def ask(server: Server, method: str = "GET", path: str = "/", **headers: str) -> tuple[http.client.HTTPResponse, str]:
    line = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    line.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
    for name, value in {"Host": f"127.0.0.1:{server.port}", **{k.replace("_", "-"): v for k, v in headers.items()}}.items():
        if value:
            line.putheader(name, value)
    line.endheaders()
    answer = line.getresponse()
    text = answer.read().decode()
    line.close()
    return answer, text


@pytest.mark.parametrize("path", ["/", "/index.html", "/?from=a-bookmark"])
def test_the_page_comes_with_its_policy(server, path):
    answer, text = ask(server, path=path)
    assert (answer.status, text) == (200, PAGE.text)
    head = dict(answer.getheaders())
    assert head["Content-Security-Policy"] == f"{PAGE.policy}; frame-ancestors 'none'"
    assert head["Content-Type"] == "text/html; charset=utf-8"
    assert head["X-Content-Type-Options"] == "nosniff"
    assert head["Cross-Origin-Resource-Policy"] == "same-origin"
    assert "Access-Control-Allow-Origin" not in head
    assert "Python" not in head["Server"]


def test_other_vehicles_are_made_when_they_are_asked_for():
    made = []

    def car() -> Page:
        made.append("car")
        return Page("<!doctype html>a car", "default-src 'none'; script-src 'sha256-car'")

    with Server(PAGE, others={"car": car}) as found:
        assert ask(found)[1] == PAGE.text and not made
        for _ in range(2):
            answer, text = ask(found, path="/car")
            assert (answer.status, text) == (200, "<!doctype html>a car")
            assert (
                answer.getheader("Content-Security-Policy")
                == "default-src 'none'; script-src 'sha256-car'; frame-ancestors 'none'"
            )
        assert made == ["car"]
        for path in ("/boat", "/car/", "/../car", "/__class__"):
            assert ask(found, path=path)[0].status == 404
        assert ask(found, path="/car", Origin="http://evil.example")[0].status == 403


def test_a_head_has_no_body(server):
    answer, text = ask(server, "HEAD")
    assert (answer.status, text) == (200, "")
    assert answer.getheader("Content-Length") == str(len(PAGE.text.encode()))


@pytest.mark.parametrize(
    "host", ["", "evil.example", "127.0.0.1", "localhost", "127.0.0.1:1", "[::1]:{port}", "127.0.0.1:{port}.evil.example"]
)
def test_a_foreign_name_is_refused(server, host):
    answer, text = ask(server, Host=host.format(port=server.port))
    assert answer.status == 403
    assert "a page" not in text


def test_two_names_are_refused(server):
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as line:
        line.sendall(f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nHost: evil.example\r\n\r\n".encode())
        assert line.recv(100).startswith(b"HTTP/1.1 403")


def test_localhost_is_its_name_too(server):
    assert ask(server, Host=f"localhost:{server.port}")[0].status == 200


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "https://127.0.0.1:{port}", "http://127.0.0.1"])
def test_what_other_pages_ask_is_refused(server, origin):
    assert ask(server, Origin=origin.format(port=server.port))[0].status == 403


def test_its_own_page_may_ask(server):
    assert ask(server, Origin=f"http://127.0.0.1:{server.port}")[0].status == 200


def test_another_site_may_link_but_not_embed(server):
    assert ask(server, Sec_Fetch_Site="cross-site", Sec_Fetch_Dest="document")[0].status == 200
    for part in ("script", "iframe", "image", "empty"):
        assert ask(server, Sec_Fetch_Site="cross-site", Sec_Fetch_Dest=part)[0].status == 403


@pytest.mark.parametrize(
    "path", ["/etc/passwd", "/../pyproject.toml", "/%2e%2e/", "/web/app.js", "http://evil.example/", "/.git/config"]
)
def test_there_is_nothing_else(server, path):
    assert ask(server, path=path)[0].status == 404


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
def test_it_can_only_be_read(server, method):
    answer, _ = ask(server, method)
    assert answer.status == 405
    assert answer.getheader("Allow") == "GET, HEAD"


def test_a_long_address_is_refused(server):
    assert ask(server, path="/" + "a" * 2000)[0].status == 414
    assert ask(server, path="/" + "a" * 70_000)[0].status == 414


def test_it_listens_on_this_machine_only(server):
    assert server._http.server_address[0] == "127.0.0.1"


def test_a_port_that_is_taken_is_reported(server):
    with pytest.raises(OSError, match=rf"cannot serve at 127\.0\.0\.1:{server.port} .* leave out the port"):
        Server(PAGE, server.port)
    with pytest.raises(ValueError, match="port must be from 0"):
        Server(PAGE, 70_000)


def test_the_verb_serves_until_it_is_closed():
    with dr.studio("van_der_pol", browser=False) as studio:
        answer, text = ask(studio)
        assert answer.status == 200
        assert "van der pol" in text
        assert repr(studio) == f"<studio at {studio.address}>"
    with pytest.raises(OSError):
        ask(studio)


def test_the_command_serves_until_it_is_interrupted(monkeypatch, capsys):
    served = []

    def interrupted(server: Server) -> None:
        served.append((server.address, ask(server)[0].status))
        raise KeyboardInterrupt

    monkeypatch.setattr(Server, "wait", interrupted)
    assert main(["studio", "van_der_pol", "--no-browser"]) == 0
    ((address, status),) = served
    assert status == 200
    assert capsys.readouterr().out == f"the studio is at {address} (Ctrl-C ends it)\nthe studio is closed\n"


def test_the_command_writes_a_folder(tmp_path, capsys):
    folder = tmp_path / "site" / "ride"
    assert main(["studio", "van_der_pol", "--static", str(folder)]) == 0
    assert capsys.readouterr().out == f"written: {folder / 'index.html'}\n"
    assert [path.name for path in folder.iterdir()] == ["index.html"]
    assert "van der pol" in (folder / "index.html").read_text(encoding="utf-8")


def test_the_command_says_what_is_wrong(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    assert main(["studio", "van_der_pol", "--static", str(tmp_path / "file")]) == 2
    assert "is a file; name a folder" in capsys.readouterr().err
    assert main(["studio", "van_der_pol", "--against", "damped_pendulum", "--static", str(tmp_path)]) == 2
    assert "cannot be compared: its parameters are not the model's" in capsys.readouterr().err
    assert main(["studio", "no_such_model"]) == 2
    assert "no_such_model" in capsys.readouterr().err
