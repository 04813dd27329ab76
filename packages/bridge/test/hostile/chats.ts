import { PassThrough } from 'node:stream'
import { REST } from '@discordjs/rest'
import { discordRestOptions } from '@reply/discord'
import { createDiscordPort, renderDiscord } from '@reply/discord/internal'
import type { Bubble, ChannelPort, Render } from '@reply/sink/channel'
import { createSlackPort, renderSlack } from '@reply/slack/internal'
import { createTelegramPort, renderHtml, renderRich } from '@reply/telegram/internal'
import { createHandClock, type HandClock } from '@reply/testing'
import { startDiscord } from '@reply/testing/discord'
import { startSlack } from '@reply/testing/slack'
import { startTelegram, type TelegramMessage } from '@reply/testing/telegram'
import { createFakeBaileys, startWhatsApp } from '@reply/testing/whatsapp'
import { type BaileysSocket, createCloudClient } from '@reply/whatsapp'
import { type BaileysAck, createBaileysPort, createCloudPort, renderWhatsApp } from '@reply/whatsapp/internal'
import { LogLevel, WebClient } from '@slack/web-api'
import { generateWAMessage } from 'baileys'
import { Api } from 'grammy'
import { consoleSink } from '../../../console/src/sink.ts'
import { fakeClock } from '../../../console/test/fixture/clock.ts'
import { START, settledOf, tell, text, tool } from '../../../console/test/fixture/reply.ts'
import { fakeTerminal } from '../../../console/test/fixture/terminal.ts'
import { split } from '../../../sink/src/markdown/split.ts'
import { readEntities } from '../../scripts/demo/entities.ts'
import { readDiscordMarkdown, readMarkdown } from '../../scripts/demo/markdown.ts'
import { readRich } from '../../scripts/demo/rich.ts'
import {
  inDiscord,
  inPage,
  inSlackMarkdown,
  inSlackMrkdwn,
  inTelegramHtml,
  inTelegramPlain,
  inTelegramRich,
  inTerminal,
  inWhatsApp,
  pageOf,
  type Sight,
} from './sight.ts'

/** A place that shows what a model writes. */
export interface Place {
  /** Shows a text there, and returns what people see and what happens. */
  show(source: string): Promise<Sight>
  /** Where a text is cut into several messages. Absent where no text is too long. */
  readonly cut?: ((source: string) => readonly string[]) | undefined
  close(): Promise<void>
}

const buttons = [[{ label: 'Yes', data: 'y' }]]
const signal = new AbortController().signal

function bubbleOf(render: Render, source: string, more: Partial<Bubble> = {}): Bubble {
  const { text, plain, length } = render(source)
  return { text, plain, length, source, isPlain: false, buttons: [], ...more }
}

function literally(render: Render, source: string): Bubble {
  const { plain } = render(source)
  return bubbleOf(render, source, { text: plain, isPlain: true })
}

/** Posts, edits to it, and looks at the result. A blank text is not posted by the sink either. */
async function postTo(port: ChannelPort, bubble: Bubble, key: string, clock: HandClock): Promise<boolean> {
  if (bubble.text.trim() === '') return false
  const posting = { chat: { id: '7' }, signal, silent: false, key }
  const ref = await port.post({ ...bubble, ...(port.edit && { text: '…', plain: '…', source: '…' }) }, posting)
  await clock.advance(5000)
  await port.edit?.(ref, bubble, { chat: { id: '7' }, signal })
  await clock.advance(5000)
  return true
}

/** As the sink cuts a text. */
function cutFor(render: Render, maxLength: number): (source: string) => readonly string[] {
  return (source) => split(source, { maxLength, measure: (text) => render(text).length }).map((slice) => slice.source)
}

const nothing: Sight = { text: '', links: [], acts: [] }

/** What a fake platform says of a message that it took, added to what a reader finds. */
function withActs(sight: Sight, ...more: readonly (readonly (string | number)[])[]): Sight {
  return { ...sight, acts: [...sight.acts, ...more.flat().map(String)] }
}

type TelegramWay = 'rich' | 'html' | 'plain' | 'caption' | 'draft'

async function telegram(way: TelegramWay): Promise<Place> {
  const clock = createHandClock()
  const fake = await startTelegram({ token: '42:secret', clock })
  const api = new Api('42:secret', { apiRoot: fake.url })
  const isRich = way === 'rich' || way === 'draft'
  const port = createTelegramPort({ api, chatId: 7, clock, rich: isRich })
  const render = isRich ? renderRich : renderHtml
  const readers = {
    rich: inTelegramRich,
    draft: inTelegramRich,
    html: inTelegramHtml,
    plain: inTelegramPlain,
    caption: inTelegramPlain,
  }
  let count = 0
  return { show, cut: cutFor(render, way === 'caption' ? 400 : port.limits.maxLength), close: fake.close }

  async function show(source: string): Promise<Sight> {
    const message = await sent(source)
    if (message === undefined) return nothing
    const { loads, mentions, names, source: given } = message
    const keys = message.buttons.flat().flatMap(({ url, action }) => url ?? action ?? [])
    return withActs(readers[way](given), loads, mentions, names, keys)
  }

  async function sent(source: string): Promise<TelegramMessage | undefined> {
    const posting = { chat: { id: '7' }, signal, silent: false, key: String(++count) }
    if (way === 'caption') {
      await port.upload?.({ name: 'a.txt', mime: 'text/plain', bytes: Buffer.from('a'), caption: source }, posting)
      await clock.advance(5000)
    } else if (way === 'draft') {
      const bubble = bubbleOf(render, source)
      if (bubble.text === '') return undefined
      await port.stream?.write(bubble, { chat: { id: '7' }, signal })
      const draft = fake.screen(7).find(({ isDraft }) => isDraft)
      await clock.advance(60_000)
      return draft
    } else {
      const bubble = way === 'plain' ? literally(render, source) : bubbleOf(render, source, { buttons })
      if (!(await postTo(port, bubble, String(count), clock))) return undefined
    }
    return fake.screen(7).at(-1)
  }
}

async function slack(way: 'blocks' | 'plain' | 'fallback' | 'caption' | 'stream'): Promise<Place> {
  const clock = createHandClock()
  const fake = await startSlack({ clock })
  const options = {
    slackApiUrl: fake.url,
    logLevel: LogLevel.ERROR,
    retryConfig: { retries: 0 },
    rejectRateLimitedCalls: true,
  }
  const api = new WebClient(fake.token, options)
  let count = 0
  return { show, cut: cutFor(renderSlack, 2000), close: fake.close }

  async function show(source: string): Promise<Sight> {
    const root = fake.say('C1', 'Why?')
    const mentioned = fake.mentions.length
    const called = fake.calls.length
    const recipient = { userId: 'U1', teamId: fake.team }
    const port = createSlackPort({ api, clock, channelId: 'C1', threadTs: root, recipient })
    const posting = { chat: { id: 'C1' }, signal, silent: false, key: String(++count) }
    const wait = async (): Promise<void> => await clock.advance(5000)
    if (way === 'caption')
      await port.upload?.({ name: 'a.txt', mime: 'text/plain', bytes: Buffer.from('a'), caption: source }, posting)
    else if (way === 'stream') {
      // The pieces are cut anywhere, and Slack joins them.
      const { text } = renderSlack(source)
      const stream = port.stream
      const task = { id: 'a', title: source, status: 'running' } as const
      const half = Math.floor(text.length / 2)
      const ref = await stream?.open({ text: text.slice(0, half), tasks: [task], plan: source }, posting)
      await wait()
      if (ref) await stream?.append(ref, { text: text.slice(half, half + 3), tasks: [] }, posting)
      await wait()
      if (ref) await stream?.close(ref, { text: text.slice(half + 3), tasks: [] }, posting)
    } else {
      const bubble = way === 'plain' ? literally(renderSlack, source) : bubbleOf(renderSlack, source, { buttons })
      if (!(await postTo(port, bubble, String(count), clock))) return nothing
    }
    await wait()
    const calls = fake.calls.slice(called)
    const message = fake.screen('C1', root).at(-1)
    const mentions = fake.mentions.slice(mentioned)
    const seen = (): Sight => {
      if (!message) return nothing
      if (way === 'fallback') return inSlackMrkdwn(message.fallback)
      // A rich text block's text, and a task's title, have no markup.
      if (way === 'plain') return { text: message.text, links: [], acts: [] }
      if (way === 'caption') {
        const comments = calls.flatMap(({ payload }) =>
          typeof payload.initial_comment === 'string' ? [payload.initial_comment] : [],
        )
        const unfurled = comments.flatMap((comment) => comment.match(/https?:\/\/\S+|\bwww\.\S+/gi) ?? [])
        return withActs(inSlackMrkdwn(comments.join('\n')), unfurled)
      }
      const titles = message.tasks.map(({ title }) => inSlackMarkdown(title).acts)
      return withActs(inSlackMarkdown(message.text), ...titles)
    }
    const unfurling = calls.filter(
      ({ method, payload }) =>
        method === 'chat.postMessage' && !(payload.unfurl_links === 'false' && payload.unfurl_media === 'false'),
    )
    const strange = calls.flatMap(({ payload }) =>
      typeof payload.blocks === 'string'
        ? (payload.blocks.match(/"type":"(?:image|video|file|context|section|header)"/g) ?? [])
        : [],
    )
    return withActs(
      seen(),
      mentions,
      unfurling.map(({ method }) => `${method} unfurls`),
      strange,
    )
  }
}

async function discord(way: 'content' | 'plain' | 'caption'): Promise<Place> {
  const clock = createHandClock()
  const fake = await startDiscord({ token: 'MTA.secret', clock })
  const rest = new REST({ api: fake.url, ...discordRestOptions, globalRequestsPerSecond: 1_000_000 }).setToken(
    'MTA.secret',
  )
  const channelId = '100000000000000001'
  const port = createDiscordPort({ rest, clock, channelId })
  let count = 0
  return {
    cut: cutFor(renderDiscord, 1000),
    async show(source) {
      const rung = fake.mentions(channelId).length
      const posting = { chat: { id: channelId }, signal, silent: false, key: String(++count) }
      if (way === 'caption')
        await port.upload?.({ name: 'a.txt', mime: 'text/plain', bytes: Buffer.from('a'), caption: source }, posting)
      else {
        const bubble = way === 'plain' ? literally(renderDiscord, source) : bubbleOf(renderDiscord, source, { buttons })
        if (!(await postTo(port, bubble, String(count), clock))) return nothing
      }
      await clock.advance(5000)
      const message = fake.screen(channelId).at(-1)
      if (!message) return nothing
      return withActs(
        inDiscord(message.source),
        message.loads,
        fake.mentions(channelId).slice(rung),
        message.embeds.map(() => 'embed'),
      )
    },
    close: fake.close,
  }
}

async function cloud(way: 'text' | 'buttons' | 'plain' | 'caption'): Promise<Place> {
  const clock = createHandClock()
  const fake = await startWhatsApp({ token: 'EAA-secret', clock })
  const { url: apiUrl, phoneNumberId } = fake
  const client = createCloudClient({ token: 'EAA-secret', phoneNumberId, apiUrl })
  const person = '491700000001'
  const port = createCloudPort({ client, clock, to: person })
  let count = 0
  return {
    cut: cutFor(renderWhatsApp, way === 'caption' ? 500 : 1000),
    async show(source) {
      const posting = { chat: { id: person }, signal, silent: false, key: String(++count) }
      const called = fake.calls.length
      if (way === 'caption')
        await port.upload?.({ name: 'a.txt', mime: 'text/plain', bytes: Buffer.from('a'), caption: source }, posting)
      else {
        const bubble =
          way === 'plain'
            ? literally(renderWhatsApp, source)
            : bubbleOf(renderWhatsApp, source, way === 'buttons' ? { buttons } : {})
        if (!(await postTo(port, bubble, String(count), clock))) return nothing
      }
      await clock.advance(10_000)
      const message = fake.screen(person).at(-1)
      if (!message) return nothing
      const previews = fake.calls
        .slice(called)
        .flatMap(({ fields: { text } }) =>
          typeof text === 'object' && text !== null && !('preview_url' in text && text.preview_url === false)
            ? ['a preview']
            : [],
        )
      return withActs(
        inWhatsApp(message.source),
        previews,
        /^(?:text|document|buttons|list)$/.test(message.kind) ? [] : [message.kind],
      )
    },
    close: fake.close,
  }
}

/** With Baileys' own making of messages, which can load an address for its preview. */
async function baileys(way: 'text' | 'plain' | 'caption'): Promise<Place> {
  const clock = createHandClock()
  const fake = createFakeBaileys({ clock })
  const loads: string[] = []
  const odd: string[] = []
  const sent: string[] = []
  const upload = async () => ({ mediaUrl: 'https://mmg.whatsapp.net/a', directPath: '/a' })
  const getUrlInfo = async (address: string): Promise<undefined> => void loads.push(address)
  const acks = new Set<(ack: BaileysAck) => void>()
  const socket: BaileysSocket = {
    ...fake.connect(),
    ws: { on: (_, listener) => acks.add(listener), off: (_, listener) => acks.delete(listener) },
    sendMessage: async (to, content, options = {}) => {
      const how = { userJid: '4915100000000@s.whatsapp.net', upload, getUrlInfo, ...options }
      const made = await generateWAMessage(to, { ...content } as Parameters<typeof generateWAMessage>[1], how)
      const { extendedTextMessage: own, documentMessage: file, protocolMessage: edit, ...rest } = made.message ?? {}
      const said = edit?.editedMessage?.extendedTextMessage ?? own
      sent.push(said?.text ?? file?.caption ?? '')
      if (said?.matchedText || said?.jpegThumbnail) odd.push('a preview')
      if (said?.contextInfo?.mentionedJid?.length) odd.push('a mention')
      odd.push(...Object.keys(rest).filter((name) => !/^(?:messageContextInfo|editedMessage)$/.test(name)))
      for (const ack of acks) ack({ attrs: { id: made.key.id ?? '' } })
      return made
    },
  }
  const jid = '4917000000002@s.whatsapp.net'
  const port = createBaileysPort({ socket, jid, clock })
  let count = 0
  return {
    cut: cutFor(renderWhatsApp, 1000),
    async show(source) {
      const posting = { chat: { id: jid }, signal, silent: false, key: String(++count) }
      sent.length = 0
      if (way === 'caption')
        await port.upload?.({ name: 'a.txt', mime: 'text/plain', bytes: Buffer.from('a'), caption: source }, posting)
      else {
        const bubble = way === 'plain' ? literally(renderWhatsApp, source) : bubbleOf(renderWhatsApp, source)
        if (!(await postTo(port, bubble, String(count), clock))) return nothing
      }
      return withActs(inWhatsApp(sent.at(-1) ?? ''), loads.splice(0), odd.splice(0))
    },
    close: async () => {},
  }
}

/** The console's sink on a terminal: an answer, a tool call and a title. */
async function terminal(isTTY: boolean): Promise<Place> {
  return {
    async show(source) {
      const screen = fakeTerminal(200, 60)
      const clock = fakeClock(START)
      const stdin = Object.assign(new PassThrough(), { isTTY, setRawMode: () => {} })
      const stdout = Object.assign(screen.stdout, { isTTY })
      const sink = consoleSink({ stdout, stdin, env: {}, clock })
      const call = tool('b', source, { title: source, output: source, input: { command: source } })
      tell(sink, settledOf([call, text('a', source)], { title: source }))
      clock.advance(1000)
      await sink.settled()
      return await inTerminal(screen.written())
    },
    close: async () => {},
  }
}

/** The page of the demo, with what each fake shows of the same text. */
async function page(): Promise<Place> {
  const clock = createHandClock()
  const [rich, plain] = await Promise.all([
    startTelegram({ token: '42:secret', clock }),
    startTelegram({ token: '42:secret', clock }),
  ])
  const apis = [rich, plain].map(({ url }) => new Api('42:secret', { apiRoot: url }))
  let chat = 1
  return {
    async show(source) {
      chat += 1
      await clock.advance(1000)
      const [first, second] = apis
      // As written: whatever a fake shows, the page must not run it.
      await first?.sendRichMessage(chat, { markdown: source }).catch(() => undefined)
      await second?.sendMessage(chat, source.slice(0, 4000))
      const nodes = rich.screen(chat).flatMap((message) => readRich(message.rich))
      const texts = plain.screen(chat).flatMap(({ text: said, entities }) => readEntities(said, entities))
      return inPage(await pageOf([...nodes, ...texts, ...readMarkdown(source), ...readDiscordMarkdown(source)]))
    },
    close: async () => {
      await Promise.all([rich.close(), plain.close()])
    },
  }
}

/** The places where most texts are shown, by name. */
export const mainPlaces: Readonly<Record<string, () => Promise<Place>>> = {
  "Telegram's rich messages": () => telegram('rich'),
  "Telegram's HTML": () => telegram('html'),
  "Telegram's drafts": () => telegram('draft'),
  "Slack's blocks": () => slack('blocks'),
  "Slack's streams": () => slack('stream'),
  "Discord's content": () => discord('content'),
  "WhatsApp's Cloud API": () => cloud('text'),
  Baileys: () => baileys('text'),
  'a terminal': () => terminal(true),
  'the page of the demo': page,
}

/** Places with their own markup, whose tests take little time. */
export const placesOfCards: Readonly<Record<string, () => Promise<Place>>> = {
  "Telegram's rich messages": () => telegram('rich'),
  "Telegram's HTML": () => telegram('html'),
  "Slack's blocks": () => slack('blocks'),
}

/** Where a text is shown without markup, or beside a file, a button or a notification. */
export const otherPlaces: Readonly<Record<string, () => Promise<Place>>> = {
  "Telegram's texts without markup": () => telegram('plain'),
  "Telegram's captions": () => telegram('caption'),
  "Slack's texts without markup": () => slack('plain'),
  "Slack's mrkdwn in notifications": () => slack('fallback'),
  "Slack's comments on files": () => slack('caption'),
  "Discord's texts without markup": () => discord('plain'),
  "Discord's captions": () => discord('caption'),
  "WhatsApp's messages with buttons": () => cloud('buttons'),
  "WhatsApp's texts without markup": () => cloud('plain'),
  "WhatsApp's captions": () => cloud('caption'),
  "Baileys' texts without markup": () => baileys('plain'),
  "Baileys' captions": () => baileys('caption'),
  'a log': () => terminal(false),
}
