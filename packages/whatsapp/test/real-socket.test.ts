import type { Reply } from '@reply/core'
import { createHandClock } from '@reply/testing'
import {
  type BinaryNode,
  decodeBinaryNode,
  initAuthCreds,
  makeWASocket,
  proto,
  type SignalRepositoryWithLIDStore,
  unpadRandomMax16,
} from 'baileys'
import { afterEach, expect, test } from 'vitest'
import { WebSocketServer } from 'ws'
import { replyWith, settledWith, text } from '../../sink/test/make.ts'
import { baileysSink } from '../src/index.ts'
import { passing } from './cloud.ts'

const jid = '4917000000002@s.whatsapp.net'
const me = '4915100000000:7@s.whatsapp.net'

const stops: (() => unknown)[] = []
afterEach(async () => {
  for (const stop of stops.splice(0).toReversed()) await stop()
})

const ignore = (): void => {}
const silent = {
  level: 'silent',
  child: () => silent,
  trace: ignore,
  debug: ignore,
  info: ignore,
  warn: ignore,
  error: ignore,
}

/** Encrypts nothing, so that the server can read what it gets. */
const plain = {
  encryptMessage: async ({ data }: { data: Uint8Array }) => ({ type: 'msg' as const, ciphertext: data }),
  validateSession: async () => ({ exists: true }),
  lidMapping: { getLIDForPN: async () => null, getPNForLID: async () => null, getLIDsForPNs: async () => [] },
} as unknown as SignalRepositoryWithLIDStore

/** What the server does with a message: it takes it and acknowledges it, or the connection breaks before or after. */
type Fate = 'taken' | 'taken, then cut' | 'lost, then cut'

/**
 * The real Baileys, up to the bytes of its web socket, and a server that keeps a person's chat by WhatsApp's rules: a known
 * id is ignored, and an edit changes its message. The handshake never ends, so nothing is encrypted, and the
 * acknowledgements are put where Baileys puts those that it decrypts.
 */
async function connected(fates: readonly Fate[]) {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1' })
  await new Promise((resolve) => server.once('listening', resolve))
  stops.push(() => server.close())
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  const chat = new Map<string, string>()
  const left = [...fates]
  const seen: string[] = []
  let current: ReturnType<typeof makeWASocket> | undefined
  server.on('connection', (wire) => {
    let isFirst = true
    wire.on('message', (bytes: Buffer) => {
      // The greeting of the handshake.
      if (isFirst) isFirst = false
      else void decodeBinaryNode(bytes.subarray(3)).then((node) => node.tag === 'message' && take(node, wire))
    })
  })

  function take(node: BinaryNode, wire: { terminate(): void }): void {
    const { id = '' } = node.attrs
    const fate = left.shift() ?? 'taken'
    const said = contentOf(node)
    seen.push(`${said?.protocolMessage ? 'edit' : 'post'}: ${fate}`)
    if (fate !== 'lost, then cut') put(id, said)
    if (fate === 'taken')
      current?.ws.emit('CB:ack,class:message', { tag: 'ack', attrs: { class: 'message', id, t: '1' } })
    else wire.terminate()
  }

  function put(id: string, said: proto.Message | undefined): void {
    const edited = said?.protocolMessage
    const known = edited?.key?.id ?? ''
    if (edited && chat.has(known)) chat.set(known, edited.editedMessage?.extendedTextMessage?.text ?? '')
    else if (!edited && !chat.has(id)) chat.set(id, said?.extendedTextMessage?.text ?? '')
  }

  function connect(): void {
    const devices = {
      get: async (user: string) => [{ user, server: 's.whatsapp.net', device: user === '4917000000002' ? 0 : 7 }],
    }
    const socket = makeWASocket({
      auth: { creds: { ...initAuthCreds(), me: { id: me } }, keys: { get: async () => ({}), set: async () => {} } },
      waWebSocketUrl: `ws://127.0.0.1:${port}`,
      userDevicesCache: { ...devices, set: async () => {}, del: async () => {}, flushAll: async () => {} } as never,
      makeSignalRepository: () => plain,
      logger: silent,
    })
    current = socket
    socket.ev.on('connection.update', ({ connection }) => {
      if (connection === 'close' && current === socket) current = undefined
    })
  }
  stops.push(() => current?.end(undefined))
  return {
    chat,
    seen,
    connect,
    socket: () => (current?.ws.isOpen ? current : undefined),
    isConnected: () => current !== undefined,
  }
}

/** What the stanza says to the person: the first of the devices that it is written for. */
function contentOf({ content }: BinaryNode): proto.Message | undefined {
  const nodes = (of: BinaryNode['content']): readonly BinaryNode[] => (Array.isArray(of) ? of : [])
  const [to] = nodes(nodes(content).find(({ tag }) => tag === 'participants')?.content)
  const bytes = nodes(to?.content).find(({ tag }) => tag === 'enc')?.content
  return bytes instanceof Uint8Array ? proto.Message.decode(unpadRandomMax16(bytes)) : undefined
}

const part = (words: string, isOpen: boolean) => ({ ...text(words, isOpen ? { status: 'open' } : {}), id: 'prt_a' })
const [first, second] = ['It begins, and this is more than forty characters long,', ' and it goes on']
const growing: Reply = replyWith([part(first, true)])
const grown: Reply = replyWith([part(first + second, true)])
const done: Reply = settledWith([part(`${first}${second}. It is done.`, false)])

test.each<[string, readonly Fate[]]>([
  ['a post is taken and the connection cut', ['taken, then cut']],
  ['it happens twice', ['taken, then cut', 'taken, then cut']],
  ['a post is lost', ['lost, then cut']],
  ['a post is lost, then taken without an acknowledgement', ['lost, then cut', 'taken, then cut']],
  ['an edit is lost', ['taken', 'lost, then cut']],
  ['an edit is taken without an acknowledgement', ['taken', 'taken, then cut']],
])('with the real Baileys the end of an answer is there, once: %s', async (_, fates) => {
  const clock = createHandClock()
  const { chat, seen, connect, socket, isConnected } = await connected(fates)
  connect()
  const sink = baileysSink({ socket, jid, clock })
  const ready = async () => await passing(clock, () => socket() !== undefined)
  /** The host connects again. */
  const again = async (): Promise<void> => {
    if (isConnected()) return
    connect()
    await ready()
  }
  await ready()
  sink.replyStarted?.({ type: 'replyStarted', reply: growing })
  await passing(clock, () => seen.length === 1)
  sink.replyAmended?.({ type: 'replyAmended', reply: grown })
  let isOver = false
  void sink.settled().then(() => {
    isOver = true
  })
  sink.replySettled?.({ type: 'replySettled', outcome: 'completed', reply: done })
  while (!isOver) {
    await again()
    const { length } = seen
    await passing(clock, () => isOver || !isConnected() || seen.length > length)
  }
  expect([...chat.values()]).toEqual([`${first}${second}. It is done.`])
  expect(await sink.settled()).toMatchObject({ shown: 1, undelivered: [], doubtful: 0 })
  expect(seen.slice(0, fates.length).map((one) => one.replace(/^\w+: /, ''))).toEqual(fates)
  // Edited once, after all its tries.
  expect(seen.filter((one) => one === 'edit: taken')).toHaveLength(1)
})
