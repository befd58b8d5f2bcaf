"""Tables of HTML."""

from xml.etree import ElementTree

from skbayes.utils.html_table import html_table


def test_texts_are_shown_as_they_are():
    rows = [("a & b", "<i>", '"'), ("c", "", "é")]
    table = ElementTree.fromstring(html_table("1 < 2", rows))
    assert table.find("caption").text == "1 < 2"
    shown = [[cell.text or "" for cell in row] for row in table.iter("tr")]
    assert shown == [list(row) for row in rows]
