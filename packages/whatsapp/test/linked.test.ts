import { createServer, type ServerResponse } from 'node:http'
import { systemClock } from '@reply/core'
import type { Inbound } from '@reply/sink'
import { memoryStore } from '@reply/sink'
import type { InboundStatus } from '@reply/sink/channel'
import { withResolvers } from '@reply/sink/internal'
import { type BridgeStage, bridgeChannelContract } from '@reply/sink/testing'
import { createHandClock } from '@reply/testing'
import { createFakeBaileys, type FakeBaileys } from '@reply/testing/whatsapp'
import { expect, test } from 'vitest'
import type { BaileysLibrary, BaileysLogin, LinkListener } from '../src/baileys/connection.ts'
import { checkBaileys, connectBaileys } from '../src/baileys/connection.ts'
import { bridgeChannel } from '../src/bridge.ts'
import { until } from './cloud.ts'

const group = '120363000000000000@g.us'
const config = { type: 'whatsapp', api: 'baileys', auth: './login', number: '4915100000000' } as const

interface Library extends BaileysLibrary {
  /** The listener of the newest socket. */
  readonly listener: () => LinkListener | undefined
  /** How often the login was read. */
  readonly logins: () => number
}

/** Baileys' library with sockets of the fake account. */
function libraryOf(baileys: FakeBaileys, isLinked = true): Library {
  let listener: LinkListener | undefined
  let logins = 0
  return {
    listener: () => listener,
    logins: () => logins,
    findFile: async ({ directPath = '' }) => {
      const content = Buffer.from(directPath.slice(1), 'base64url').toString('base64')
      return { url: `data:application/octet-stream;base64,${content}`, decrypt: (bytes) => bytes }
    },
    login: async (): Promise<BaileysLogin> => {
      logins += 1
      return {
        number: () => (isLinked ? config.number : undefined),
        save: async () => {},
        connect: (newest) => {
          listener = newest
          const socket = baileys.connect()
          socket.ev.on('connection.update', newest.onUpdate)
          // A socket that was replaced ends no other.
          const end = (): void => void (listener === newest && baileys.drop())
          return { socket, pair: async () => 'ABCD-EFGH', end }
        },
      }
    },
  }
}

/** A group of the fake account, on a linked device. */
async function setup(): Promise<BridgeStage> {
  const baileys = createFakeBaileys({})
  const library = libraryOf(baileys)
  return {
    channel: {
      ...bridgeChannel,
      check: async () => await checkBaileys(config, library),
      create: async (_, host) => connectBaileys(config, host, library),
    },
    config,
    secret: () => '',
    chat: { id: group, kind: 'shared' },
    account: '+4915100000000',
    writeText: ({ text, isMention, replyTo, file }) => {
      const how = { mention: isMention === true, ...(replyTo && { replyTo: replyTo.id }), ...(file && { file }) }
      baileys.say(group, text, how)
    },
    screen: () =>
      baileys.screen(group).flatMap(({ id, from, text }) => (from === 'me' ? [{ id, text, buttons: [] }] : [])),
    isTyping: () => baileys.typing(group),
    connections: () => Number(baileys.isConnected),
    keepsMessages: true,
    close: async () => baileys.drop(),
  }
}

const alone = 'a linked device has one connection at a time'
const skip = {
  'refuses a wrong token when it checks and when it starts, without naming it': 'a linked device has no token',
  'fills the menu of commands': 'WhatsApp has no menu',
  'keeps to the shares of an account that two connections use': alone,
  'keeps to the shares of an account that four connections use': alone,
  'moves a share from one connection to another without a refused call': alone,
  'makes no call during a pause of the account that another connection was told': alone,
  'has the platform redeliver what the host did not take': 'Baileys confirms a message before it passes it on',
}

const clauses = bridgeChannelContract({ name: 'A linked device', setup, skip })
test.each(clauses.map((clause) => [clause.name, clause.run] as const))('%s', async (_, run) => await run())

async function opened(isLinked: boolean, onInbound: (inbound: Inbound) => void = () => {}) {
  const clock = createHandClock()
  const baileys = createFakeBaileys({ clock })
  const library = libraryOf(baileys, isLinked)
  const errors: Error[] = []
  const statuses: InboundStatus[] = []
  const connection = connectBaileys(
    config,
    {
      name: 'wa',
      secret: () => '',
      store: memoryStore(),
      clock,
      onInbound,
      onError: (error) => errors.push(error),
      onInboundStatus: (status) => statuses.push(status),
    },
    library,
  )
  await connection.start()
  return { baileys, library, errors, statuses, connection, clock }
}

test('a device that is not linked reports the pairing code and where to enter it', async () => {
  const { library, errors, connection } = await opened(false)
  library.listener()?.onUpdate({ qr: 'a picture' })
  await until(() => errors.length === 1)
  expect(errors[0]?.message).toContain('On the phone of 4915100000000')
  expect(errors[0]?.message).toContain('enter ABCD-EFGH')
  await connection.stop()
  await expect(checkBaileys(config, library)).rejects.toMatchObject({ type: 'unlinked' })
})

const closed = (statusCode: number) => ({ error: Object.assign(new Error('closed'), { output: { statusCode } }) })

// The codes are Baileys' own `DisconnectReason`.
test.each([
  [428, 1000, 'updates'],
  [408, 1000, 'updates'],
  [503, 1000, 'updates'],
  [500, 1000, 'updates'],
])('a connection that ends with %i reconnects after %i ms', async (code, waitMs, type) => {
  const { library, errors, connection, clock, statuses } = await opened(true)
  const first = library.listener()
  first?.onUpdate({ connection: 'close', lastDisconnect: closed(code) })
  expect(errors).toMatchObject([{ type }])
  await clock.advance(waitMs)
  await until(() => library.listener() !== first)
  expect(statuses.filter(({ status }) => status === 'disconnected')).toEqual([])
  await connection.stop()
})

test('a restart that WhatsApp requires is not reported', async () => {
  const { library, errors, connection, clock } = await opened(true)
  const first = library.listener()
  first?.onUpdate({ connection: 'close', lastDisconnect: closed(515) })
  await clock.advance(1000)
  await until(() => library.listener() !== first)
  expect(errors).toEqual([])
  await connection.stop()
})

test.each([
  [401, 'was unlinked on the phone'],
  [403, 'has blocked this account'],
  [411, 'can have no linked devices'],
  [440, 'Another process uses the login'],
])('after %i the status shows how to fix it, and the login is read again for each retry', async (code, cure) => {
  const { library, errors, connection, clock, statuses } = await opened(true)
  for (let count = 1; count <= 8; count++) {
    const last = library.listener()
    const logins = library.logins()
    last?.onUpdate({ connection: 'close', lastDisconnect: closed(code) })
    expect(errors).toHaveLength(count)
    expect(statuses.at(-1)).toMatchObject({ status: 'disconnected', reason: expect.stringContaining(cure) })
    await clock.advance(300_000)
    await until(() => library.listener() !== last)
    expect(library.logins()).toBe(logins + 1)
  }
  library.listener()?.onUpdate({ connection: 'open' })
  expect(statuses.at(-1)).toEqual({ status: 'receiving' })
  await connection.stop()
})

test('each start reads the login, which another process may have changed, and a stop waits until it is saved', async () => {
  const clock = createHandClock()
  const baileys = createFakeBaileys({ clock })
  const library = libraryOf(baileys)
  const saved = withResolvers<void>()
  const saving = {
    ...library,
    login: async (folder: string) => ({ ...(await library.login(folder)), save: () => saved.promise }),
  }
  const host = { name: 'wa', secret: () => '', store: memoryStore(), clock, onInbound: () => {}, onError: () => {} }
  const connection = connectBaileys(config, host, saving)
  expect(library.logins()).toBe(0)
  await connection.start()
  expect(library.logins()).toBe(1)
  library.listener()?.onLogin()
  let isStopped = false
  const stopped = connection.stop().then(() => {
    isStopped = true
  })
  await until(() => !baileys.isConnected)
  expect(isStopped).toBe(false)
  saved.resolve()
  await stopped
  await connection.start()
  expect(library.logins()).toBe(2)
  await connection.stop()
})

test('a stop and a start while the login is read again connect once', async () => {
  const clock = createHandClock()
  const baileys = createFakeBaileys({ clock })
  const library = libraryOf(baileys)
  let connects = 0
  let held: Promise<void> | undefined
  const counting: BaileysLibrary = {
    ...library,
    login: async (folder) => {
      await held
      const login = await library.login(folder)
      return {
        ...login,
        connect: (listener) => {
          connects += 1
          return login.connect(listener)
        },
      }
    },
  }
  const host = { name: 'wa', secret: () => '', store: memoryStore(), clock, onInbound: () => {}, onError: () => {} }
  const connection = connectBaileys(config, host, counting)
  await connection.start()
  const read = withResolvers<void>()
  held = read.promise
  library.listener()?.onUpdate({ connection: 'close', lastDisconnect: closed(440) })
  await clock.advance(5000)
  await connection.stop()
  const started = connection.start()
  read.resolve()
  await started
  expect([connects, clock.pending]).toEqual([2, 0])
  await connection.stop()
})

// Baileys' `messages-recv.ts` passes on what WhatsApp kept for a device that was away as `append`.
test('messages from the two days before a start arrive with their time, and older ones are reported', async () => {
  const received: Inbound[] = []
  const { baileys, errors, connection, clock } = await opened(true, (inbound) => received.push(inbound))
  await connection.stop()
  baileys.say(group, 'Long ago')
  await clock.advance(3_600_000)
  const wroteAt = clock.now()
  baileys.say(group, 'While away')
  await clock.advance(172_800_000)
  await connection.start()
  await until(() => received.length === 1)
  expect(received).toMatchObject([{ text: 'While away', messageRef: { postedAt: Math.floor(wroteAt / 1000) * 1000 } }])
  expect(errors).toMatchObject([{ type: 'stale' }])
  await connection.stop()
})

test('a file of another channel, one of the phone alone, or one that is gone, is refused', async () => {
  const { connection, library } = await opened(true)
  const file = { name: 'a.txt', mime: 'text/plain' }
  await expect(connection.download({ ...file, ref: 'x' }, { maxBytes: 9 })).rejects.toMatchObject({ type: 'refused' })
  await expect(connection.download({ ...file, ref: 'phone-only' }, { maxBytes: 9 })).rejects.toMatchObject({
    type: 'refused',
    message: 'file a.txt: WhatsApp shows it on the phone alone. Send it again, and not as view-once.',
  })
  const broken = { ...library, findFile: () => Promise.reject(new Error('404 https://mmg.whatsapp.net/secret')) }
  const host = {
    name: 'wa',
    secret: () => '',
    store: memoryStore(),
    clock: systemClock,
    onInbound: () => {},
    onError: () => {},
  }
  const other = connectBaileys(config, host, broken)
  const ref = JSON.stringify({ kind: 'image', mediaKey: 'AA==', directPath: '/a' })
  const error = await other.download({ ...file, ref }, { maxBytes: 9 }).catch((reason: unknown) => reason)
  expect(error).toMatchObject({ type: 'gone' })
  expect(String(error)).not.toContain('secret')
  await connection.stop()
})

/** Serves the beginning of a file, and then does this with the connection. Returns a device that downloads from there. */
async function brokenDownload(then: (response: ServerResponse) => void) {
  const server = createServer((_, response) => {
    response.writeHead(200, { 'content-length': 1000 })
    response.write('beginning', () => then(response))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}/`
  const library = {
    ...libraryOf(createFakeBaileys({})),
    findFile: async () => ({ url, decrypt: (a: Uint8Array) => a }),
  }
  const clock = createHandClock()
  const host = { name: 'wa', secret: () => '', store: memoryStore(), clock, onInbound: () => {}, onError: () => {} }
  const ref = JSON.stringify({ kind: 'audio', mediaKey: 'AA==', directPath: '/a' })
  const connection = connectBaileys(config, host, library)
  return {
    clock,
    download: async (signal?: AbortSignal) =>
      await connection.download({ ref, name: 'a.ogg', mime: 'audio/ogg' }, { maxBytes: 2000, signal }),
    close: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

test('a download whose connection breaks fails, and the process goes on', async () => {
  const { download, close } = await brokenDownload((response) => response.destroy())
  await expect(download()).rejects.toMatchObject({ name: 'PortError', type: 'ambiguous' })
  await close()
})

test('a download that stalls ends by its signal, and after two minutes', async () => {
  let begun = 0
  const { download, clock, close } = await brokenDownload(() => {
    begun += 1
  })
  const cancel = new AbortController()
  const canceled = expect(download(cancel.signal)).rejects.toMatchObject({ name: 'PortError' })
  await until(() => begun === 1)
  cancel.abort()
  await canceled
  const late = expect(download()).rejects.toMatchObject({ name: 'PortError' })
  await until(() => begun === 2)
  await clock.advance(120_000)
  await late
  await close()
})
