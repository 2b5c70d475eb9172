"""Plotly's script without the parts that no figure needs."""

from __future__ import annotations

from plotly.offline import get_plotlyjs

from calibo.report.bundle import reduced

#: Built as Plotly is: modules that run when they are first required, and a part of another package between them.
SMALL = (
    "/**\n* plotly.js v4.0.0\n*/\n"
    "var W=(t,e)=>()=>(e||t((e={exports:{}}).exports,e),e.exports),E=(t,e)=>()=>(t&&(e=t(t=0)),e);"
    'var a=W((x,m)=>{m.exports=/[}"]{/.test("}")});'
    'var bar=W((x,m)=>{a();m.exports={moduleType:"trace",name:"bar"}});'
    'var geo=W(x=>{map();x.it={moduleType:"trace",name:"geo"}});var map;var mapInit=E(()=>{map=`}${1}`});'
    "var maps=W((x,m)=>{mapInit();m.exports=map});"
    'var pie=W((x,m)=>{maps();m.exports={moduleType:"trace",name:"pie"}});'
    "var core=W((x,m)=>{m.exports={register(l){}}});"
    "var all=W((x,m)=>{var c=core();c.register([bar(),geo(),pie()]);m.exports=c});return all();\n/* the end */"
)


def test_only_what_is_required_stays() -> None:
    found = reduced(SMALL, frozenset({"scatter", "bar"}))
    for name in ("a", "bar", "core", "all"):
        assert f"var {name}=W(" in found, name
    assert "c.register([bar()])" in found and found.endswith("return all();\n/* the end */")
    assert not any(f"var {name}=" in found for name in ("geo", "maps", "pie", "mapInit"))
    assert "mapInit=E(" in reduced(SMALL, frozenset({"pie"})), "what stands between modules is required as they are"
    assert "register([])" in reduced(SMALL, frozenset({"scatter"}))


def test_a_script_that_is_built_in_another_way_stays_as_it_is() -> None:
    for script in (
        "let plotly;",
        "",
        SMALL.replace("v4.", "v9."),
        SMALL.replace("=W(", "=(("),
        SMALL.replace("return ", ""),
    ):
        assert reduced(script, frozenset({"bar"})) == script
    assert reduced(SMALL, frozenset({"unknown"})) == SMALL


def test_the_real_script_becomes_small() -> None:
    whole = get_plotlyjs()
    found = reduced(whole, frozenset({"scatter", "bar"}))
    if "plotly.js v4." not in whole[:80]:
        assert found == whole, "of a version that was not looked at in a browser the whole script is used"
        return
    assert len(found) < 0.35 * len(whole) and 'name:"bar"' in found and 'name:"scatter3d"' not in found
    assert reduced(whole, frozenset({"scatter", "bar"})) is found, "it is made once"
