"""Settings: read, set from outside, and errors that name file, key, what was found and expected."""

from __future__ import annotations

import pytest

from rankloop.serving.settings.options import ServeOptions, choose_settings, write_settings
from rankloop.serving.settings.service import as_settings, read_settings
from rankloop.serving.settings.template import write_template

GOOD = """
[server]
port = 9000
[loops.shop]
features = ["price", "match"]
rankers = ["auto", "solar-i:C=0.1"]
[loops.shop.feedback]
click = 1
dwell = { gain = 2, at_least = 30 }
"""


def test_settings_are_read(tmp_path):
    path = tmp_path / "a.toml"
    path.write_text(GOOD)
    settings = read_settings(path, {"RANKLOOP__SERVER__HOST": "::1", "RANKLOOP__SERVER__PORT": "1"})
    assert (settings.server.host, settings.server.port) == ("::1", 1)
    shop = settings.loops["shop"]
    assert shop.names == ("price", "match")
    assert shop.journal == str(tmp_path / "shop.journal")
    rules = shop.rules
    assert rules["dwell"].worth(29) == 0
    assert rules["dwell"].worth(30) == 2
    assert rules["click"].worth(1) == 1


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("port = 9000", "port = 'x'"), r"server.port: expected `int`, got `str`"),
        (("port = 9000", "prot = 1"), r"server: object contains unknown field `prot`"),
        (("port = 9000", "host = '0.0.0.0'"), r"server.host: found 0.0.0.0, .* no tokens"),
        (("auto", "nobody"), r"loops.shop.rankers: .*nobody"),
        (("auto", "ranksvm"), r"loops.shop.rankers: ranksvm learns from whole data sets"),
        (('"match"', '"price"'), r"loops.shop.features: found .* all different"),
        (('["price", "match"]', "0"), r"loops.shop.features: expected"),
        (("[loops.shop]", "[loops.Shop]"), r"loops: found 'Shop', expected a name"),
        (("click = 1", "click = 'x'"), r"loops.shop.feedback\[...\]: expected"),
        (("[loops.shop]", "[loops.shop"), r"this is not TOML"),
        (
            ("[loops.shop]", "[loops.shop]\nlearn_from = 'ips'"),
            r"loops.shop.examination: found none",
        ),
        (("[loops.shop]", "[loops.shop]\ndefaults = {x=1}"), r"loops.shop.defaults: 'x' is no"),
        (("[loops.shop]", "[loops.shop]\ntemperature = 0"), r"loops.shop.temperature: found 0"),
        (("[loops.shop]", "[loops.shop]\nalpha = 2"), r"loops.shop.alpha: found 2"),
        (("[loops.shop]", "[loops.shop]\nwindow = -1"), r"loops.shop.window: expected"),
    ],
)
def test_wrong_settings_name_file_and_key(tmp_path, change, words):
    path = tmp_path / "a.toml"
    changed = GOOD.replace(*change)
    assert changed != GOOD
    path.write_text(changed)
    with pytest.raises(ValueError, match=rf"a.toml: {words}"):
        read_settings(path, {})


def test_no_file_and_no_loop(tmp_path):
    with pytest.raises(ValueError, match="cannot be read: No such file"):
        read_settings(tmp_path / "none.toml", {})
    with pytest.raises(ValueError, match="loops: found none"):
        as_settings({"loops": {}})


def test_the_template_is_right_and_never_overwrites(tmp_path):
    path = tmp_path / "b.toml"
    loop = {"features": 3, "rankers": ["auto", "solar-i"], "journal": "shop.journal"}
    write_template(path, "shop", loop, 8080)
    settings = read_settings(path, {})
    assert settings.loops["shop"].rankers == ("auto", "solar-i")
    with pytest.raises(ValueError, match="this file already exists"):
        write_template(path, "shop", loop, 8080)
    with pytest.raises(ValueError, match="loops"):
        write_template(tmp_path / "c.toml", "Bad name", loop, 8080)
    assert not (tmp_path / "c.toml").exists()


def test_options_win_over_a_file(tmp_path):
    path = tmp_path / "a.toml"
    path.write_text(GOOD)
    assert choose_settings(path, ServeOptions()) == read_settings(path, {})
    options = ServeOptions(None, "size,age,match", ["solar-i"], "other.journal", 8091)
    settings = choose_settings(path, options)
    shop = settings.loops["shop"]
    assert settings.server.port == 8091
    assert (shop.names, shop.rankers) == (("size", "age", "match"), ("solar-i",))
    assert shop.journal == "other.journal"
    assert "dwell" in shop.rules  # what no option names stays
    assert choose_settings(path, options._replace(loop="shop")) == settings


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (ServeOptions("goods", journal="x"), "there is no loop 'goods'; --loop can be shop, more"),
        (ServeOptions("shop"), "--loop only selects the loop that --features"),
        (ServeOptions(journal="x"), "there are 2 loops; select with --loop the one"),
        (ServeOptions(port=70_000), "server.port"),
    ],
)
def test_an_option_that_cannot_be_used_is_an_error(tmp_path, options, said):
    path = tmp_path / "a.toml"
    path.write_text(f"{GOOD}\n[loops.more]\nfeatures = 3\n")
    with pytest.raises(ValueError, match=said):
        choose_settings(path, options)


def test_options_are_written_into_a_new_file(tmp_path):
    path = tmp_path / "a.toml"
    write_settings(path, ServeOptions("shop", "price,match", ["solar-i"], "foo.db", 8091))
    settings = read_settings(path, {})
    assert settings.server.port == 8091
    assert settings.loops["shop"].journal == str(tmp_path / "foo.db")
