import type { TelegramRichNode } from '@reply/testing/telegram'
import xterm from '@xterm/headless'
import { marked, type Token } from 'marked'
import { linksInDiscord, readDiscord } from '../../../testing/src/discord/markdown.ts'
import { parseHtml } from '../../../testing/src/telegram/html.ts'
import { readRich, textOfRich } from '../../../testing/src/telegram/rich.ts'
import { readWhatsApp } from '../../../testing/src/whatsapp/formatted.ts'
import type { Markup } from '../../scripts/demo/view.ts'

/** What a platform, an app or a terminal makes of what it was sent. */
export interface Sight {
  /** What people read. */
  readonly text: string
  /** What a press opens. */
  readonly links: readonly { readonly text: string; readonly url: string }[]
  /** What is done without a press, or offered by more than a link: a loaded address, a mention, a button, a colour. */
  readonly acts: readonly string[]
}

/** What is wrong with it: nothing that a model writes may act, and no link may lead elsewhere than it says. */
export function wrongs({ links, acts }: Sight): readonly string[] {
  return [
    ...acts,
    ...links.filter(({ url }) => !/^(?:https?:\/\/|mailto:)/i.test(url)).map(({ url }) => `a link to ${url}`),
    ...links.filter(({ url }) => /^https?:\/\/[^/?#]*@/i.test(url)).map(({ url }) => `a link with a name: ${url}`),
    ...links.filter(isMisnamed).map(({ text, url }) => `a link to ${url} called ${text}`),
  ]
}

/** Any host that the text names must be the one that the link opens. An address as its own text hides nothing. */
function isMisnamed({ text, url }: Sight['links'][number]): boolean {
  const [shown, opened] = [text, url].map((one) => one.replaceAll('\u2060', ''))
  if (shown === opened || `http://${shown}` === opened) return false
  if (/^mailto:/i.test(url)) return text.includes('@') && !url.includes(text.trim())
  const host = URL.canParse(url) ? new URL(url).host : url
  const named = [...text.matchAll(/https?:\/\/([^\s/?#)]+)|\b((?:[a-z\d-]+\.)+(?:example|com|org))\b/gi)]
  return named
    .map(([, whole, bare]) => (whole ?? bare ?? '').replace(/^.*@/, ''))
    .some((name) => !host.endsWith(name.replace(/^www\./, '')))
}

const richTags: ReadonlySet<string> = new Set([
  ...[
    'p',
    'h1',
    'h2',
    'h3',
    'h4',
    'h5',
    'h6',
    'b',
    'i',
    's',
    'code',
    'pre',
    'a',
    'ul',
    'ol',
    'li',
    'input',
    'br',
    'hr',
  ],
  ...['blockquote', 'table', 'tr', 'th', 'td'],
])

/** A rich message's HTML, in which Telegram detects nothing. */
export function inTelegramRich(html: string): Sight {
  const nodes = readRich({ html })
  const links: { text: string; url: string }[] = []
  const acts: string[] = []
  const look = (node: TelegramRichNode): void => {
    if (typeof node === 'string') return
    const { tag, attributes, children } = node
    if (!richTags.has(tag)) acts.push(`<${tag}>`)
    if (tag === 'a') links.push({ text: textOfRich(children), url: attributes.href ?? '' })
    const known = tag === 'a' ? /^href$/ : tag === 'code' ? /^class$/ : /^(?:value|align|type|checked)$/
    for (const name of Object.keys(attributes)) if (!known.test(name)) acts.push(`<${tag} ${name}>`)
    children.forEach(look)
  }
  nodes.forEach(look)
  return { text: textOfRich(nodes), links, acts }
}

/** A text with entities, in which Telegram also finds names and its own addresses. */
export function inTelegramHtml(html: string): Sight {
  const { text, entities } = parseHtml(html)
  const shown = /^(?:bold|italic|strikethrough|code|pre|blockquote|text_link)$/
  let searched = text
  for (const { type, offset, length } of entities)
    if (/^(?:code|pre)$/.test(type))
      searched = searched.slice(0, offset) + ' '.repeat(length) + searched.slice(offset + length)
  return {
    text,
    links: entities.flatMap(({ url, offset, length }) =>
      url ? [{ text: text.slice(offset, offset + length), url }] : [],
    ),
    acts: [...entities.filter(({ type }) => !shown.test(type)).map(({ type }) => type), ...foundByTelegram(searched)],
  }
}

/** A text without markup. */
export function inTelegramPlain(text: string): Sight {
  return { text, links: [], acts: foundByTelegram(text) }
}

/** https://core.telegram.org/bots/api#messageentity, and links that its apps find in a text. */
function foundByTelegram(text: string): readonly string[] {
  return text.match(/(?<![\w@])@\w{3,32}|\b(?:tg|ton|tonsite):\/\/\S+/gi) ?? []
}

/**
 * A markdown block or a part of a stream: Markdown, in which pictures are links, and Slack's own marks.
 * https://docs.slack.dev/reference/block-kit/blocks/markdown-block
 */
export function inSlackMarkdown(source: string): Sight {
  const links: { text: string; url: string }[] = []
  marked.walkTokens(marked.lexer(source), (token) => {
    if (token.type === 'link' || token.type === 'image') links.push({ text: messageOf(token), url: String(token.href) })
  })
  return { text: source, links, acts: [...marksOfSlack(source), ...(source.match(/\bslack:\/\//gi) ?? [])] }
}

function messageOf(token: Token): string {
  if ('tokens' in token && token.tokens) return token.tokens.map(messageOf).join('')
  return 'text' in token ? String(token.text) : token.raw
}

/** A text in which Slack reads its own marks alone. */
export function inSlackMrkdwn(text: string): Sight {
  const shown = text.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&')
  return { text: shown, links: [], acts: text.match(/<[^>\n]*>/g) ?? [] }
}

/** https://docs.slack.dev/messaging/formatting-message-text */
function marksOfSlack(source: string): readonly string[] {
  return (
    source.match(
      /<(?:!(?:channel|here|everyone|subteam|date)\b|[@#][A-Z]\w|[a-z][a-z\d+.-]*:[^\s<>|]*\|)[^<>\n]*>/gi,
    ) ?? []
  )
}

/** People, roles, channels, times, emoji and commands are marks that Discord's client replaces. */
export function inDiscord(content: string): Sight {
  const text = readDiscord(content)
  return { text, links: linksInDiscord(content), acts: text.match(/@mention/g) ?? [] }
}

/** WhatsApp's texts have no links of their own: addresses in them can be pressed, and lead where they say. */
export function inWhatsApp(source: string): Sight {
  return { text: readWhatsApp(source).text, links: [], acts: [] }
}

const REORDERING_OR_CONTROL =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for
  /[\u202a-\u202e\u2066-\u2069\u0080-\u009f]|(?!\n)[\u0000-\u001f\u007f]/g

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for
const COLOUR = /\u001b\[[\d;]*m/g

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for
const SCREEN = /\u001b\[(?:\?(?:25|7)[hl]|K|J|\d+A)|\r/g

/**
 * What xterm.js does with what is written to it, without the moves of the console's screen: hide the cursor, wrap, erase,
 * go up. Colours and the like are ours, too. All else would be the model's.
 */
export async function inTerminal(output: string): Promise<Sight> {
  const written = output.replace(SCREEN, '')
  const terminal = new xterm.Terminal({
    cols: 200,
    rows: 200,
    allowProposedApi: true,
    scrollback: 2000,
    convertEol: true,
  })
  const acts: string[] = []
  const note = (what: string) => (): boolean => {
    acts.push(what)
    return true
  }
  for (const code of [0, 1, 2, 4, 7, 8, 9, 10, 11, 12, 52, 104, 777, 1337])
    terminal.parser.registerOscHandler(code, note(`OSC ${code}`))
  for (const final of ['q', 'p', 'r', '|', '{']) {
    terminal.parser.registerDcsHandler({ final }, note('DCS'))
    terminal.parser.registerDcsHandler({ intermediates: '$', final }, note('DCS'))
  }
  for (const final of 'ABCDEFGHJKLMPSTXZ@`abcdefghilnqrsu')
    terminal.parser.registerCsiHandler({ final }, note(`CSI ${final}`))
  for (const final of 'cDEHM78=>') terminal.parser.registerEscHandler({ final }, note(`ESC ${final}`))
  terminal.onBell(note('bell'))
  terminal.onTitleChange(note('title'))
  terminal.onData(note('answer'))
  await new Promise<void>((done) => terminal.write(written, done))
  const buffer = terminal.buffer.active
  const rows = Array.from({ length: buffer.length }, (_, at) => buffer.getLine(at)?.translateToString(true) ?? '')
  const text = rows.join('\n').trimEnd()
  terminal.dispose()
  // xterm.js has no direction of text: these would reorder it elsewhere.
  const hidden = written.replace(COLOUR, '').match(REORDERING_OR_CONTROL)
  return { text, links: [], acts: [...acts, ...(hidden ?? []).map((one) => `U+${one.charCodeAt(0).toString(16)}`)] }
}

/** The elements that the page of the demo makes. It shows links as the platform would, under any name. */
export function inPage(elements: readonly FakeNode[]): Sight {
  const links: { text: string; url: string }[] = []
  const acts: string[] = []
  const look = (node: FakeNode): void => {
    if (typeof node === 'string') return
    const { tag, attributes, children } = node
    if (/^(?:img|script|iframe|object|embed|link|style|video|audio|source|form|input|svg|base|meta)$/i.test(tag))
      acts.push(`<${tag}>`)
    for (const name of Object.keys(attributes))
      if (!/^(?:class|href|target|rel|data-[a-z]+|tabindex|start|role|aria-label)$/.test(name))
        acts.push(`<${tag} ${name}>`)
    if (attributes.href !== undefined) links.push({ text: '', url: attributes.href })
    children.forEach(look)
  }
  elements.forEach(look)
  return { text: elements.map(textOfNode).join('\n'), links, acts }
}

export type FakeNode =
  | string
  | { readonly tag: string; readonly attributes: Record<string, string>; readonly children: FakeNode[] }

function textOfNode(node: FakeNode): string {
  return typeof node === 'string' ? node : node.children.map(textOfNode).join('')
}

/** Runs the page's own code on a document that only notes what is made. */
export async function pageOf(markup: readonly Markup[]): Promise<readonly FakeNode[]> {
  const path = new URL('../../scripts/demo/page/element.js', import.meta.url).href
  const { markupNode }: { markupNode(one: Markup): FakeNode } = await import(/* @vite-ignore */ path)
  const before = Object.getOwnPropertyDescriptor(globalThis, 'document')
  const createElement = (tag: string) => {
    const node = { tag, attributes: {} as Record<string, string>, children: [] as FakeNode[] }
    return {
      ...node,
      setAttribute(name: string, value: string) {
        node.attributes[name] = value
      },
      append: (...children: readonly FakeNode[]) => void node.children.push(...children),
    }
  }
  Object.defineProperty(globalThis, 'document', {
    configurable: true,
    value: { createElement, createTextNode: (text: string) => text },
  })
  try {
    return markup.map(markupNode)
  } finally {
    if (before) Object.defineProperty(globalThis, 'document', before)
    else Reflect.deleteProperty(globalThis, 'document')
  }
}
